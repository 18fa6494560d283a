// Sets of bytes as sorted, disjoint half-open ranges; what strided regions turn into when bytes must be subtracted.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/program/program.h"

namespace moediff {

struct Range {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};
using Ranges = std::vector<Range>;

/// Sorted, without empty or touching ranges.
Ranges normalised(Ranges ranges);
/// The runs of a region, each widened by `margin` bytes on both sides.
Ranges ranges_of(const Region& region, std::int64_t margin = 0);
/// Bytes of `from` that are not in `cut`; both are normalised first.
Ranges subtract(Ranges from, Ranges cut);
Region region_of(const Range& range);
/// Bytes that two overlapping regions share: exact when they are runs at one distance (a window of rows and
/// columns of a tensor always is), else the overlap of their extents.
Region common(const Region& a, const Region& b);
/// The smallest run that holds both.
Region hull(const Region& a, const Region& b);

}  // namespace moediff
