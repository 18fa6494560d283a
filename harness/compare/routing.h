// The router's discrete output: was each choice of experts one that rounding can explain?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

/// logits [tokens, experts], bias [experts], ids [tokens, top_k]. Tokens with a logit that is not finite are judged
/// only for distinct ids in range.
RoutingCheck check_routing(std::span<const double> logits, std::span<const double> bias,
                           std::span<const std::int32_t> ids, std::int64_t tokens,
                           const reference::RouterConfig& config);

/// Tokens whose selection hangs on a near-tie.
std::int64_t count_near_ties(std::span<const double> logits, std::span<const double> bias, std::int64_t tokens,
                             const reference::RouterConfig& config);
/// More near-ties than healthy margins can have (bounds::kNearTieLimit)?
bool too_many_near_ties(std::int64_t near_ties, std::int64_t tokens);

}  // namespace moediff
