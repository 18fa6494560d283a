// sigmoid, softmax, choice, group score, weight: each a monotone step on the ends of an interval.
#include "harness/compare/bounds/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/compare/bounds/constants.h"

namespace moediff::bounds {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// sum of `terms` positive numbers in fp32, relative: at most (terms - 1) u in any order, lambda sqrt(terms - 1) u but
/// for a stated probability.
double sum_relative(std::size_t terms) {
  const double additions = static_cast<double>(terms) - 1;
  return std::min(additions, statistical_factor() * std::sqrt(additions)) * kU32;
}

/// exp(z - max) errs by exp's own 4u and by u |z - max| from the difference; the sum by the mean of these and by its
/// additions; the division by one rounding, or two with a reciprocal.
std::vector<double> softmax_errors(std::span<const double> logits, std::span<const double> exact) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double mean = 0;
  const auto own = [&](std::size_t i) { return kExpRelative + kU32 * (largest - logits[i]); };
  for (std::size_t i = 0; i < exact.size(); ++i) mean += exact[i] == 0 ? 0 : exact[i] * own(i);
  const double common = mean + sum_relative(exact.size()) + 2 * kU32;
  std::vector<double> errors;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double tail = logits[i] - largest < kExpOverflow ? kMayVanish * exact[i] : 0;
    errors.push_back(exact[i] == 0 ? kTiny32 : exact[i] * (own(i) + common) + tail + kTiny32);
  }
  return errors;
}

std::vector<double> sigmoid_errors(std::span<const double> logits, std::span<const double> exact) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double tail = logits[i] < kExpOverflow ? kMayVanish * exact[i] : 0;
    errors.push_back(kSigmoidRelative * exact[i] + tail + kTiny32);
  }
  return errors;
}

/// How much scores may move when the logits move by `reach`: |d log s / d z| <= 1 for sigmoid; a softmax score also
/// moves with all the others. A score is at most 1, and one that is 0 here may have been anything below 2^-1074.
std::vector<double> moved_by(std::span<const double> reach, std::span<const double> exact, Scoring scoring) {
  const double most = scoring == Scoring::softmax ? *std::max_element(reach.begin(), reach.end()) : 0.0;
  std::vector<double> moved;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double shift = reach[i] + most, least = std::numeric_limits<double>::denorm_min();
    const double by = exact[i] > 0 ? exact[i] * std::expm1(shift) : std::exp(std::log(least) + shift);
    moved.push_back(shift == 0 || std::isnan(exact[i]) ? 0.0 : std::min(1.0, by));
  }
  return moved;
}

Interval kept(Interval value, KeptIn where, DType model) {
  return where == KeptIn::model ? rounded(model, value) : value;
}

Interval added(Interval a, double b) { return b == 0 ? a : rounded(DType::f32, shifted(a, b)); }

Interval without_nan(Interval a) { return std::isnan(a.lo) || std::isnan(a.hi) ? point(-kInfinity) : a; }

/// Sum of the two largest, or the largest: monotone in every choice.
Interval group_score(std::span<const Interval> choices, GroupScore kind) {
  std::vector<double> low, high;
  for (const Interval& c : choices) {
    low.push_back(c.lo);
    high.push_back(c.hi);
  }
  const auto ends = [&](std::vector<double>& all) {
    std::sort(all.rbegin(), all.rend());
    return kind == GroupScore::max || all.size() == 1 ? all[0] : all[0] + all[1];
  };
  const Interval exact{ends(low), ends(high)};
  return without_nan(kind == GroupScore::max || choices.size() == 1 ? exact : rounded(DType::f32, exact));
}

/// n / (n + r): in each variable monotone where the other is fixed, so that the extremes lie at the corners.
Interval share(Interval n, Interval r) {
  if (!(n.lo + r.lo > 0)) return {-kInfinity, kInfinity};
  double lo = kInfinity, hi = -kInfinity;
  for (const double a : {n.lo, n.hi}) {
    for (const double b : {r.lo, r.hi}) {
      lo = std::min(lo, a / (a + b));
      hi = std::max(hi, a / (a + b));
    }
  }
  return {lo, hi};
}

Interval loosened(Interval a, double relative) {
  return {a.lo - relative * std::fabs(a.lo) - kTiny32, a.hi + relative * std::fabs(a.hi) + kTiny32};
}

/// The score that becomes an expert's weight.
Interval raw_weight(const TokenScores& scores, std::size_t expert, double bias, WeightSource source) {
  switch (source) {
    case WeightSource::score:
      return scores.score[expert];
    case WeightSource::fresh_score:
      return scores.fresh[expert];
    case WeightSource::choice_minus_bias:
      break;
  }
  return added(scores.choice[expert], -bias);
}

}  // namespace

std::vector<double> kept_bias(std::span<const double> bias, const reference::RouterConfig& config) {
  std::vector<double> out(static_cast<std::size_t>(config.experts));
  for (std::size_t e = 0; e < bias.size(); ++e)
    out[e] = config.policy.bias_in == KeptIn::model ? round_to(config.model, bias[e]) : bias[e];
  return out;
}

std::vector<double> score_errors(std::span<const double> logits, std::span<const double> exact, Scoring scoring) {
  return scoring == Scoring::sigmoid ? sigmoid_errors(logits, exact) : softmax_errors(logits, exact);
}

TokenScores token_scores(const reference::Routing& routing, std::span<const double> logits,
                         std::span<const double> reach, std::int64_t token, std::span<const double> kept_bias,
                         const reference::RouterConfig& config) {
  const auto experts = static_cast<std::size_t>(config.experts), begin = static_cast<std::size_t>(token) * experts;
  const auto row = logits.subspan(begin, experts), exact = std::span(routing.exact_score).subspan(begin, experts);
  const RouterPolicy& policy = config.policy;
  std::vector<double> error = score_errors(row, exact, policy.scoring);
  if (!reach.empty()) {
    const std::vector<double> moved = moved_by(reach.subspan(begin, experts), exact, policy.scoring);
    for (std::size_t e = 0; e < experts; ++e) error[e] += moved[e];
  }
  TokenScores out;
  for (std::size_t e = 0; e < experts; ++e) {
    const Interval fresh{std::max(0.0, exact[e] - error[e]), exact[e] + error[e]};
    out.fresh.push_back(std::isnan(exact[e]) ? point(exact[e]) : fresh);
    out.score.push_back(kept(out.fresh[e], policy.scores_in, config.model));
    out.choice.push_back(without_nan(kept(added(out.score[e], kept_bias[e]), policy.choice_in, config.model)));
  }
  const auto in_group = experts / static_cast<std::size_t>(config.n_group);
  for (std::size_t g = 0; g < static_cast<std::size_t>(config.n_group); ++g)
    out.group.push_back(group_score(std::span(out.choice).subspan(g * in_group, in_group), policy.group_score));
  return out;
}

std::vector<Interval> weight_intervals(const TokenScores& scores, std::span<const std::int32_t> ids,
                                       std::span<const double> kept_bias, const reference::RouterConfig& config) {
  const RouterPolicy& policy = config.policy;
  std::vector<Interval> raw;
  double sum_abs = 0;
  for (const std::int32_t id : ids) {
    const auto expert = static_cast<std::size_t>(id);
    raw.push_back(raw_weight(scores, expert, kept_bias[expert], policy.weight_from));
    sum_abs += magnitude(raw.back()).hi;
  }
  const double epsilon = static_cast<float>(policy.norm_epsilon);
  const double additions = static_cast<double>(ids.size()) * kU32 * sum_abs;  // with that of epsilon
  std::vector<Interval> weights;
  for (std::size_t j = 0; j < raw.size(); ++j) {
    Interval weight = raw[j];
    if (config.norm_topk_prob) {
      Interval rest = widened(point(epsilon), additions);
      for (std::size_t i = 0; i < raw.size(); ++i) rest = i == j ? rest : sum(rest, raw[i]);
      weight = share(raw[j], rest);
    }
    // The division, or the reciprocal and its product; the factor.
    weights.push_back(loosened(scaled(loosened(weight, 2 * kU32), config.factor), kU32));
  }
  return weights;
}

}  // namespace moediff::bounds
