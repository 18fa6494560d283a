// A choice C of experts is legitimate when scores within their errors would have led to it. With upper and lower ends
// of each choice score and group score, a set S of topk_group groups explains C when
//
//   upper(g) >= lower(h) for all groups g in S and h outside, and
//   upper(i) >= lower(j) for all experts i in C and j left out, where an expert outside S has the mask for its score.
//
// Both are bottleneck conditions: "every left side reaches some threshold, no right side exceeds it". For given
// thresholds each group by itself may be in S, may be out, or neither; then it is enough to count. The thresholds that
// matter are the right sides themselves.
#include "harness/compare/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/compare/bounds/constants.h"

namespace moediff {
namespace {

using bounds::Interval;
using bounds::TokenScores;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMismatches = 4;

bool holds(std::span<const std::int32_t> set, std::int64_t id) {
  return std::find(set.begin(), set.end(), id) != set.end();
}

/// Of one group, were it in S (or outside): the weakest chosen expert's upper end, the strongest left-out one's lower.
struct Ends {
  double chosen = kInfinity, left_out = -kInfinity;
  void add(Interval score, bool is_chosen) {
    if (is_chosen) {
      chosen = std::min(chosen, score.hi);
    } else {
      left_out = std::max(left_out, score.lo);
    }
  }
  bool allowed(double threshold) const { return chosen >= threshold && left_out <= threshold; }
};
struct GroupEnds {
  Ends in, out;
};

std::vector<GroupEnds> ends_of_groups(const TokenScores& scores, std::span<const std::int32_t> chosen,
                                      const reference::RouterConfig& config) {
  const double mask = config.policy.mask == MaskValue::zero ? 0 : -kInfinity;
  const std::int64_t in_group = config.experts / config.n_group;
  std::vector<GroupEnds> ends(static_cast<std::size_t>(config.n_group));
  for (std::int64_t e = 0; e < config.experts; ++e) {
    GroupEnds& group = ends[static_cast<std::size_t>(e / in_group)];
    const bool is_chosen = holds(chosen, e);
    group.in.add(scores.choice[static_cast<std::size_t>(e)], is_chosen);
    group.out.add(bounds::point(mask), is_chosen);
  }
  return ends;
}

/// Is there a set of topk_group groups with these thresholds of experts and groups?
bool feasible(const std::vector<GroupEnds>& ends, const std::vector<Interval>& groups, double expert_threshold,
              double group_threshold, std::int64_t topk_group) {
  std::int64_t must = 0, may = 0;
  for (std::size_t g = 0; g < ends.size(); ++g) {
    const bool in = ends[g].in.allowed(expert_threshold) && groups[g].hi >= group_threshold;
    const bool out = ends[g].out.allowed(expert_threshold) && groups[g].lo <= group_threshold;
    if (!in && !out) return false;
    if (in) ++may;
    if (!out) ++must;
  }
  return must <= topk_group && topk_group <= may;
}

bool is_legitimate(const TokenScores& scores, std::span<const std::int32_t> chosen,
                   const reference::RouterConfig& config) {
  const std::vector<GroupEnds> ends = ends_of_groups(scores, chosen, config);
  std::vector<double> expert_thresholds{-kInfinity}, group_thresholds{-kInfinity};
  for (const GroupEnds& e : ends) {
    expert_thresholds.push_back(e.in.left_out);
    expert_thresholds.push_back(e.out.left_out);
  }
  for (const Interval& g : scores.group) group_thresholds.push_back(g.lo);
  for (const double expert : expert_thresholds) {
    for (const double group : group_thresholds) {
      if (feasible(ends, scores.group, expert, group, config.topk_group)) return true;
    }
  }
  return false;
}

double middle(Interval a) { return std::isinf(a.lo) ? a.lo : (a.lo + a.hi) / 2; }

std::vector<std::size_t> best_first(const std::vector<Interval>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return middle(scores[a]) > middle(scores[b]); });
  return order;
}

/// Do the `keep` best and the rest overlap, or touch?
bool is_near_tie(const std::vector<Interval>& scores, std::int64_t keep) {
  const std::vector<std::size_t> order = best_first(scores);
  double weakest = kInfinity, strongest = -kInfinity;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Interval& score = scores[order[i]];
    if (static_cast<std::int64_t>(i) < keep) {
      weakest = std::min(weakest, score.lo);
    } else {
      strongest = std::max(strongest, score.hi);
    }
  }
  return std::isfinite(strongest) && weakest <= strongest;
}

/// Choices with the mask in the place of those outside the best groups.
std::vector<Interval> masked(const TokenScores& scores, const reference::RouterConfig& config) {
  const double mask = config.policy.mask == MaskValue::zero ? 0 : -kInfinity;
  std::vector<Interval> choices(scores.choice.size(), bounds::point(mask));
  const std::vector<std::size_t> order = best_first(scores.group);
  const auto in_group = static_cast<std::size_t>(config.experts / config.n_group);
  for (std::size_t g = 0; g < static_cast<std::size_t>(config.topk_group); ++g) {
    const auto first = static_cast<std::ptrdiff_t>(order[g] * in_group);
    std::copy_n(scores.choice.begin() + first, in_group, choices.begin() + first);
  }
  return choices;
}

bool groups_tie(const TokenScores& scores, const reference::RouterConfig& config) {
  return is_near_tie(scores.group, config.topk_group);
}

bool near_tie(const TokenScores& scores, const reference::RouterConfig& config) {
  return groups_tie(scores, config) || is_near_tie(masked(scores, config), config.top_k);
}

bool distinct_and_in_range(std::span<const std::int32_t> chosen, std::int64_t experts) {
  std::vector<std::int32_t> sorted(chosen.begin(), chosen.end());
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  return distinct && (sorted.empty() || (sorted.front() >= 0 && sorted.back() < experts));
}

/// Same experts with a choice that is no number: "ids fill up from the lowest".
bool same_fill(std::span<const double> choices, std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  for (std::size_t e = 0; e < choices.size(); ++e) {
    const auto id = static_cast<std::int64_t>(e);
    if (std::isnan(choices[e]) && holds(a, id) != holds(b, id)) return false;
  }
  return true;
}

/// The chosen expert that the expected routing does not have, against the best one it has and the choice lacks.
Mismatch explain(const TokenScores& scores, std::span<const std::int32_t> chosen,
                 std::span<const std::int32_t> expected, std::int64_t token) {
  const auto value = [&](std::int64_t id) { return middle(scores.choice[static_cast<std::size_t>(id)]); };
  Mismatch m;
  m.token = token;
  std::int64_t missing = -1;
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    if (holds(expected, chosen[j])) continue;
    if (m.expert < 0 || value(chosen[j]) < value(m.expert)) {
      m.expert = chosen[j];
      m.slot = static_cast<std::int64_t>(j);
    }
  }
  for (const std::int32_t id : expected) {
    if (!holds(chosen, id) && (missing < 0 || value(id) > value(missing))) missing = id;
  }
  m.index = {token, m.slot};
  if (m.expert < 0 || missing < 0) return m;
  const Interval &best = scores.choice[static_cast<std::size_t>(missing)],
                 &taken = scores.choice[static_cast<std::size_t>(m.expert)];
  m.expected = value(missing);
  m.actual = value(m.expert);
  m.bound = (best.hi - best.lo + taken.hi - taken.lo) / 2;
  return m;
}

/// Ids that no router may return.
Mismatch unusable(std::span<const std::int32_t> chosen, std::int64_t token, std::int64_t experts) {
  Mismatch m;
  m.token = token;
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    const bool repeated = std::count(chosen.begin(), chosen.end(), chosen[j]) > 1;
    if (!repeated && chosen[j] >= 0 && chosen[j] < experts) continue;
    m.slot = static_cast<std::int64_t>(j);
    m.expert = chosen[j];
    m.actual = chosen[j];
    break;
  }
  m.index = {token, m.slot};
  return m;
}

void add_mismatch(RoutingCheck& check, Mismatch mismatch) {
  ++check.illegitimate;
  if (check.mismatches.size() < kMismatches) check.mismatches.push_back(std::move(mismatch));
}

}  // namespace

bool falls_back(std::span<const double> choices, const reference::RouterConfig& config) {
  if (config.policy.not_finite != NotFinite::uniform) return false;
  return std::count_if(choices.begin(), choices.end(), [](double c) { return std::isfinite(c); }) < config.top_k;
}

RoutingCheck check_routing(const reference::Routing& routing, std::span<const double> logits,
                           std::span<const double> bias, std::span<const std::int32_t> ids, std::int64_t tokens,
                           const reference::RouterConfig& config) {
  RoutingCheck check;
  const auto k = static_cast<std::size_t>(config.top_k), experts = static_cast<std::size_t>(config.experts);
  const std::vector<double> added = bounds::kept_bias(bias, config);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = static_cast<std::size_t>(t);
    const auto chosen = ids.subspan(row * k, k), expected = std::span(routing.ids).subspan(row * k, k);
    const auto choices = std::span(routing.choice).subspan(row * experts, experts);
    check.usable.push_back(distinct_and_in_range(chosen, config.experts));
    if (!check.usable.back()) {
      add_mismatch(check, unusable(chosen, t, config.experts));
      continue;
    }
    const TokenScores scores = bounds::token_scores(routing, logits, {}, t, added, config);
    if (near_tie(scores, config)) ++check.near_ties;
    const bool agrees = std::ranges::all_of(chosen, [&](std::int32_t id) { return holds(expected, id); });
    if (agrees) continue;
    const bool explained = !falls_back(choices, config) && is_legitimate(scores, chosen, config) &&
                           (same_fill(choices, chosen, expected) || groups_tie(scores, config));
    if (!explained) add_mismatch(check, explain(scores, chosen, expected, t));
  }
  return check;
}

std::int64_t count_near_ties(std::span<const double> logits, std::span<const double> reach,
                             std::span<const double> bias, std::int64_t tokens, const reference::RouterConfig& config) {
  const reference::Routing routing = reference::route(logits, bias, tokens, config);
  const std::vector<double> added = bounds::kept_bias(bias, config);
  std::int64_t near_ties = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (near_tie(bounds::token_scores(routing, logits, reach, t, added, config), config)) ++near_ties;
  }
  return near_ties;
}

bool too_many_near_ties(std::int64_t near_ties, std::int64_t expected, std::int64_t tokens) {
  const auto share = static_cast<std::int64_t>(bounds::kNearTieLimit * static_cast<double>(tokens));
  return near_ties > expected + std::max(bounds::kNearTieRows, share);
}

}  // namespace moediff
