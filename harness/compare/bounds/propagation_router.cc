// The router's weights in the error propagation, by policy. Roundings to the model dtype enter as errors here: the
// logits are uncertain, so that either neighbour may come out.
#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/interval.h"
#include "harness/compare/bounds/propagation.h"
#include "harness/compare/bounds/propagation_rounding.h"
#include "harness/compare/bounds/router.h"

namespace moediff::bounds {
namespace {

/// A score with its error: root of squares, and hard.
struct Score {
  double value = 0, spread = 0, hard = 0;
};

/// One token's logits with their exact scores.
struct Token {
  std::span<const double> value, squares, hard, exact;
  std::vector<double> evaluation;             ///< score_errors
  double pooled_spread = 0, pooled_hard = 0;  ///< softmax: of the mean logit
};

Token token_of(const Uncertain& logits, const reference::Routing& routing, std::int64_t t,
               const reference::RouterConfig& config) {
  const auto experts = static_cast<std::size_t>(config.experts), begin = static_cast<std::size_t>(t) * experts;
  const auto part = [&](const std::vector<double>& all) { return std::span(all).subspan(begin, experts); };
  Token token{part(logits.value), part(logits.squares), part(logits.hard), part(routing.exact_score), {}, 0, 0};
  token.evaluation = score_errors(token.value, token.exact, config.policy.scoring);
  if (config.policy.scoring == Scoring::sigmoid) return token;
  for (std::size_t e = 0; e < experts; ++e) {
    token.pooled_spread += square(token.exact[e]) * token.squares[e];
    token.pooled_hard += token.exact[e] * token.hard[e];
  }
  token.pooled_spread = std::sqrt(token.pooled_spread);
  return token;
}

/// d log s / d z is 1 - s for sigmoid; for softmax 1 for the own logit, and minus the score for each.
Score score_of(const Token& token, std::size_t e, const reference::RouterConfig& config, double bias) {
  const RouterPolicy& policy = config.policy;
  const double s = token.exact[e], own = policy.scoring == Scoring::sigmoid ? s * (1 - s) : s;
  Score score{s, own * std::sqrt(token.squares[e]) + s * token.pooled_spread,
              own * token.hard[e] + s * token.pooled_hard + token.evaluation[e]};
  const auto round = [&](DType dtype, double value) {
    score.spread = std::hypot(score.spread, half_ulp(dtype, value));
    score.hard += unit_roundoff(dtype) * std::fabs(value) + half_smallest(dtype);
  };
  score.spread = std::hypot(score.spread, token.evaluation[e] * (kSigmoidSpread / kSigmoidRelative));
  if (policy.weight_from != WeightSource::fresh_score && policy.scores_in == KeptIn::model) round(config.model, s);
  if (policy.weight_from != WeightSource::choice_minus_bias) return score;
  round(DType::f32, s + bias);
  if (policy.choice_in == KeptIn::model) round(config.model, s + bias);
  return score;
}

/// Weight j of the token's scores, with the errors of the sum it is divided by.
void weigh(std::span<const Score> scores, std::size_t j, const reference::RouterConfig& config, Uncertain& out,
           std::size_t i) {
  const double roundings = static_cast<double>(scores.size()) + 2;  // sum, epsilon, division, factor
  double sum = config.norm_topk_prob ? static_cast<float>(config.policy.norm_epsilon) : 1, spread = 0, hard = 0;
  for (std::size_t n = 0; n < scores.size() && config.norm_topk_prob; ++n) {
    sum += scores[n].value;
    spread = std::hypot(spread, scores[n].spread);
    hard += scores[n].hard;
  }
  const double weight = scores[j].value / sum, margin = 1 - hard / sum;
  out.value[i] = config.factor * weight;
  const double f = std::fabs(config.factor);
  if (!(margin > 0)) {
    // All that is left of a normalised weight is that it lies in [0, factor]. That holds where the scores chosen are
    // the best of a softmax, whose sum is no less than top_k / experts; sigmoids, and scores chosen for their bias, may
    // all underflow, to 0 / 0.
    const bool in_range = config.policy.scoring == Scoring::softmax && !config.policy.bias && sum > 0;
    if (!in_range) return make_no_claim(out, i);
    out.squares[i] = square(f / statistical_factor());
    out.hard[i] = f;
    return;
  }
  out.squares[i] = square(f * (scores[j].spread + weight * spread) / sum) + roundings * square(kU32 * out.value[i]);
  out.hard[i] =
      f * (scores[j].hard + weight * hard) / (sum * margin) + roundings * kU32 * std::fabs(out.value[i]) + kTiny32;
  if (config.policy.weights_in == KeptIn::model) add_rounding(out, i, config.model, out.value[i], 1);
}

bool is_uniform(std::span<const double> choices, const reference::RouterConfig& config) {
  const auto finite = std::count_if(choices.begin(), choices.end(), [](double c) { return std::isfinite(c); });
  return config.policy.not_finite == NotFinite::uniform && finite < config.top_k;
}

}  // namespace

Uncertain routing_weights(const Uncertain& logits, std::span<const double> bias, std::span<const std::int32_t> ids,
                          std::int64_t tokens, const reference::RouterConfig& config) {
  const reference::Routing routing = reference::route(logits.value, bias, tokens, config);
  const std::vector<double> added = kept_bias(bias, config);
  Uncertain out = zeros(ids.size());
  const auto k = static_cast<std::size_t>(config.top_k), experts = static_cast<std::size_t>(config.experts);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::size_t row = t;
    const Token token = token_of(logits, routing, t, config);
    const bool uniform = is_uniform(std::span(routing.choice).subspan(row * experts, experts), config);
    std::vector<Score> scores;
    for (std::size_t j = 0; j < k; ++j) {
      const auto e = static_cast<std::size_t>(ids[row * k + j]);
      scores.push_back(score_of(token, e, config, added[e]));
    }
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t i = row * k + j;
      if (uniform) {
        out.value[i] = 1.0 / static_cast<double>(k);
        add_rounding(out, i, DType::f32, out.value[i], 1);
      } else {
        weigh(scores, j, config, out, i);
      }
      if (std::isfinite(out.value[i])) continue;
      out.value[i] = 0;  // 0/0: nothing follows from it
      make_no_claim(out, i);
    }
  }
  return out;
}

}  // namespace moediff::bounds
