// Which sets of experts a token's scores allow, ties included. The reference picks the lowest index on a tie; other
// implementations pick as it comes, and are as right. Judged in double, with a tolerance below which two scores count
// as equal.
#pragma once

#include <cstdint>
#include <span>

#include "harness/model/router_policy.h"

namespace moediff {

struct ChoiceScores {
  std::span<const double> choice;       ///< [experts]
  std::span<const double> group_score;  ///< [n_group]
  std::int64_t topk_group = 1;
  MaskValue mask = MaskValue::neg_inf;
};

/// Is `ids` (distinct, in range) the set of the best experts, for scores within `tolerance` of the given ones? That is:
/// are there topk_group groups, none of them worse than one left out, such that no expert taken is worse than one left
/// out, where experts outside of these groups count as the mask?
bool allowed(const ChoiceScores& scores, std::span<const std::int32_t> ids, double tolerance);

/// Would another set be allowed too, because the last group or expert taken and the first left out are within
/// `tolerance`?
bool undecided(const ChoiceScores& scores, std::int64_t top_k, double tolerance);

}  // namespace moediff
