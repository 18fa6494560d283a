// The sets of experts that are as right as the reference's, because some choices are equal: all of them, as lists. What
// follows from such a choice decides which one an oracle took.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/api.h"

namespace moediff {

/// For token `row` of `routing`: the reference's ids first, then every other set of top_k experts that differs from it
/// only by experts whose choice, within the reference's groups or by the mask, is within `tolerance` (a share of the
/// largest, or of 1) of the last one taken. Only the reference's where there are more than `limit`, and in rows that
/// are not finite.
std::vector<std::vector<std::int32_t>> alternatives(const reference::Routing& routing,
                                                    const reference::RouterConfig& config, std::int64_t row,
                                                    double tolerance, std::size_t limit);

}  // namespace moediff
