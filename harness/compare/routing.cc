// A choice C of experts is legitimate when scores within their fp32 errors would have led to it. With upper and lower
// ends of each choice score and group score:
//
//   some set S of topk_group groups contains all groups of C, with upper(g) >= lower(h) for all g in S, h outside;
//   every expert i of C and j outside C in a group of S has upper(i) >= lower(j).
//
// S is built, not searched: the groups of C and those that are certainly selected are in it; what is missing is taken
// from the groups that do not contradict C, best first.
#include "harness/compare/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/scores.h"

namespace moediff {
namespace {

struct Score {
  double value = 0, error = 0;
  double upper() const { return value + error; }
  double lower() const { return value - error; }
};

/// Scores of one token.
struct TokenScores {
  std::vector<Score> expert, group;
};

TokenScores score_token(const reference::Routing& routing, std::span<const double> logits, std::int64_t token,
                        const reference::RouterConfig& config) {
  TokenScores scores;
  const std::int64_t in_group = config.experts / config.n_group;
  for (std::int64_t e = 0; e < config.experts; ++e) {
    const std::size_t i = token * config.experts + e;
    scores.expert.push_back({routing.choice[i], bounds::choice_error(logits[i], routing.score[i], routing.choice[i])});
  }
  for (std::int64_t g = 0; g < config.n_group; ++g) {
    double largest = 0;
    for (std::int64_t e = g * in_group; e < (g + 1) * in_group; ++e)
      largest = std::max(largest, scores.expert[e].error);
    const double value = routing.group_score[token * config.n_group + g];
    scores.group.push_back({value, bounds::group_score_error(largest, value)});
  }
  return scores;
}

/// Is the boundary between the `keep` best and the rest narrower than the errors of the two scores that form it?
bool is_near_tie(std::vector<Score> scores, std::int64_t keep) {
  if (keep >= static_cast<std::int64_t>(scores.size())) return false;
  std::stable_sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) { return a.value > b.value; });
  const Score &in = scores[keep - 1], &out = scores[keep];
  return in.value - out.value < in.error + out.error;
}

bool near_tie(const TokenScores& scores, const reference::RouterConfig& config) {
  if (is_near_tie(scores.group, config.topk_group)) return true;
  std::vector<std::int64_t> order(config.n_group);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return scores.group[a].value > scores.group[b].value; });
  const std::int64_t in_group = config.experts / config.n_group;
  std::vector<Score> allowed;
  for (std::int64_t g = 0; g < config.topk_group; ++g) {
    const auto first = scores.expert.begin() + order[g] * in_group;
    allowed.insert(allowed.end(), first, first + in_group);
  }
  return is_near_tie(std::move(allowed), config.top_k);
}

/// Groups whose selection no error can prevent: fewer than topk_group others reach their lower end.
bool certainly_selected(const std::vector<Score>& groups, std::size_t g, std::int64_t topk_group) {
  const auto rivals =
      std::count_if(groups.begin(), groups.end(), [&](const Score& h) { return h.upper() >= groups[g].lower(); });
  return rivals - 1 < topk_group;  // g itself is counted
}

/// A plausible set of groups that contains those of the choice, as flags; none when there is none.
std::optional<std::vector<bool>> plausible_groups(const TokenScores& scores, std::span<const std::int32_t> chosen,
                                                  double weakest_upper, const reference::RouterConfig& config) {
  const std::int64_t in_group = config.experts / config.n_group;
  std::vector<bool> in(config.n_group, false);
  for (const std::int32_t id : chosen) in[id / in_group] = true;
  for (std::size_t g = 0; g < in.size(); ++g) {
    if (certainly_selected(scores.group, g, config.topk_group)) in[g] = true;
  }
  const auto contradicts = [&](std::int64_t g) {
    for (std::int64_t e = g * in_group; e < (g + 1) * in_group; ++e) {
      const bool left_out = std::find(chosen.begin(), chosen.end(), e) == chosen.end();
      if (left_out && scores.expert[e].lower() > weakest_upper) return true;
    }
    return false;
  };
  std::vector<std::int64_t> others;
  for (std::int64_t g = 0; g < config.n_group; ++g) {
    if (!in[g] && !contradicts(g)) others.push_back(g);
  }
  std::stable_sort(others.begin(), others.end(),
                   [&](auto a, auto b) { return scores.group[a].value > scores.group[b].value; });
  auto selected = std::count(in.begin(), in.end(), true);
  for (std::size_t i = 0; i < others.size() && selected < config.topk_group; ++i, ++selected) in[others[i]] = true;
  if (selected != config.topk_group) return std::nullopt;
  for (std::size_t g = 0; g < in.size(); ++g) {
    for (std::size_t h = 0; h < in.size(); ++h) {
      if (in[g] && !in[h] && scores.group[g].upper() < scores.group[h].lower()) return std::nullopt;
    }
  }
  return in;
}

bool is_legitimate(const TokenScores& scores, std::span<const std::int32_t> chosen,
                   const reference::RouterConfig& config) {
  double weakest_upper = INFINITY;
  for (const std::int32_t id : chosen) weakest_upper = std::min(weakest_upper, scores.expert[id].upper());
  const auto groups = plausible_groups(scores, chosen, weakest_upper, config);
  if (!groups) return false;
  const std::int64_t in_group = config.experts / config.n_group;
  for (std::int64_t e = 0; e < config.experts; ++e) {
    const bool left_out = std::find(chosen.begin(), chosen.end(), e) == chosen.end();
    if ((*groups)[e / in_group] && left_out && scores.expert[e].lower() > weakest_upper) return false;
  }
  return true;
}

bool distinct_and_in_range(std::span<const std::int32_t> chosen, std::int64_t experts) {
  std::vector<std::int32_t> sorted(chosen.begin(), chosen.end());
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  return distinct && (sorted.empty() || (sorted.front() >= 0 && sorted.back() < experts));
}

/// The chosen expert that the expected routing does not have, against the best one it has and the choice lacks.
Mismatch explain(const TokenScores& scores, std::span<const std::int32_t> chosen,
                 std::span<const std::int32_t> expected, std::int64_t token) {
  const auto lacks = [](std::span<const std::int32_t> set, std::int32_t id) {
    return std::find(set.begin(), set.end(), id) == set.end();
  };
  Mismatch m;
  m.token = token;
  std::int64_t missing = -1;
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    if (!lacks(expected, chosen[j])) continue;
    if (m.expert < 0 || scores.expert[chosen[j]].value < scores.expert[m.expert].value) {
      m.expert = chosen[j];
      m.slot = static_cast<std::int64_t>(j);
    }
  }
  for (const std::int32_t id : expected) {
    if (lacks(chosen, id) && (missing < 0 || scores.expert[id].value > scores.expert[missing].value)) missing = id;
  }
  m.index = {token, m.slot};
  if (m.expert < 0 || missing < 0) return m;
  m.expected = scores.expert[missing].value;
  m.actual = scores.expert[m.expert].value;
  m.bound = scores.expert[missing].error + scores.expert[m.expert].error;
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

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

void add_mismatch(RoutingCheck& check, Mismatch mismatch) {
  constexpr std::size_t kMismatches = 4;
  ++check.illegitimate;
  if (check.mismatches.size() < kMismatches) check.mismatches.push_back(std::move(mismatch));
}

/// The reference's routing; rows that are not finite are routed as zeros, and not looked at afterwards.
reference::Routing route_finite(std::span<const double> logits, std::span<const double> bias, std::int64_t tokens,
                                const reference::RouterConfig& config) {
  std::vector<double> finite(logits.begin(), logits.end());
  std::replace_if(
      finite.begin(), finite.end(), [](double z) { return !std::isfinite(z); }, 0.0);
  return reference::route(finite, bias, tokens, config);
}

}  // namespace

RoutingCheck check_routing(std::span<const double> logits, std::span<const double> bias,
                           std::span<const std::int32_t> ids, std::int64_t tokens,
                           const reference::RouterConfig& config) {
  const reference::Routing routing = route_finite(logits, bias, tokens, config);
  RoutingCheck check;
  const auto k = static_cast<std::size_t>(config.top_k), experts = static_cast<std::size_t>(config.experts);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = static_cast<std::size_t>(t);
    const std::span<const std::int32_t> chosen = ids.subspan(row * k, k);
    const std::span<const std::int32_t> expected = std::span(routing.ids).subspan(row * k, k);
    check.usable.push_back(distinct_and_in_range(chosen, config.experts));
    if (!check.usable.back()) {
      add_mismatch(check, unusable(chosen, t, config.experts));
      continue;
    }
    if (!all_finite(logits.subspan(row * experts, experts))) continue;
    const TokenScores scores = score_token(routing, logits, t, config);
    if (near_tie(scores, config)) ++check.near_ties;
    if (!is_legitimate(scores, chosen, config)) add_mismatch(check, explain(scores, chosen, expected, t));
  }
  return check;
}

std::int64_t count_near_ties(std::span<const double> logits, std::span<const double> bias, std::int64_t tokens,
                             const reference::RouterConfig& config) {
  const reference::Routing routing = route_finite(logits, bias, tokens, config);
  const auto experts = static_cast<std::size_t>(config.experts);
  std::int64_t near_ties = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (!all_finite(logits.subspan(static_cast<std::size_t>(t) * experts, experts))) continue;
    if (near_tie(score_token(routing, logits, t, config), config)) ++near_ties;
  }
  return near_ties;
}

bool too_many_near_ties(std::int64_t near_ties, std::int64_t tokens) {
  return near_ties >
         std::max(bounds::kNearTieRows, static_cast<std::int64_t>(bounds::kNearTieLimit * static_cast<double>(tokens)));
}

}  // namespace moediff
