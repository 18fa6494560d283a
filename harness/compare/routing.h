// The router's discrete output: was each choice of experts one that rounding can explain?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/compare/bounds/router.h"
#include "harness/compare/diff.h"
#include "reference/api.h"

namespace moediff {

/// Choices judged token by token, from the candidate's own logits.
struct RoutingCheck {
  std::vector<bool> usable;          ///< by token: ids distinct and in range
  std::int64_t illegitimate = 0;     ///< tokens whose choice no rounding explains, or with unusable ids
  std::int64_t near_ties = 0;        ///< tokens with a boundary margin below the scores' error
  std::vector<Mismatch> mismatches;  ///< at most 4: token, expert wrongly chosen; expected: choice score of the best
                                     ///< expert left out, actual: of the chosen one, bound: what rounding could explain
};

/// logits [tokens, experts], bias [experts] or empty, ids [tokens, top_k]; `routing` is the reference's of these
/// logits. Choices that are NaN count as -inf, and of those the reference's must have been taken; where
/// policy.not_finite falls back, exactly its ids.
RoutingCheck check_routing(const reference::Routing& routing, std::span<const double> logits,
                           std::span<const double> bias, std::span<const std::int32_t> ids, std::int64_t tokens,
                           const reference::RouterConfig& config);

/// Tokens whose selection may hang on a near-tie when the logits are off by up to `reach` [tokens, experts].
std::int64_t count_near_ties(std::span<const double> logits, std::span<const double> reach,
                             std::span<const double> bias, std::int64_t tokens, const reference::RouterConfig& config);
/// More near-ties than the expected logits can have, by more than bounds::kNearTieLimit?
bool too_many_near_ties(std::int64_t near_ties, std::int64_t expected, std::int64_t tokens);

/// Fewer finite choices than top_k, with NotFinite::uniform: ids 0 … top_k - 1, weights 1 / top_k.
bool falls_back(std::span<const double> choices, const reference::RouterConfig& config);

}  // namespace moediff
