// Replaying expert placements: the one kind of file that is JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/replay/check.h"

namespace moediff {

inline constexpr std::string_view kEplbKind = "eplb";
inline constexpr std::string_view kEplbRule =
    "oracles called ..._stable_sort: equal; others: equal where a case is tie_free or all of them agree; otherwise "
    "replica counts equal and the maximum load of a GPU to 1e-12";

/// Throws UserError with everything that is wrong with the file.
std::vector<Check> replay_eplb(const std::string& path);

}  // namespace moediff
