// Interval arithmetic by sorting and one sweep.
#include "harness/order/ranges.h"

#include <algorithm>
#include <optional>

namespace moediff {

Ranges normalised(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  Ranges merged;
  for (const Range& range : ranges) {
    if (range.begin >= range.end) continue;
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

Ranges ranges_of(const Region& region, std::int64_t margin) {
  Ranges runs;
  if (region.row_bytes <= 0) return runs;
  for (std::int64_t row = 0; row < region.rows; ++row) {
    const std::int64_t begin = region.offset + row * region.stride;
    runs.push_back({begin - margin, begin + region.row_bytes + margin});
  }
  return normalised(std::move(runs));
}

Ranges subtract(Ranges from, Ranges cut) {
  const Ranges keep = normalised(std::move(from)), drop = normalised(std::move(cut));
  Ranges left;
  std::size_t next = 0;
  for (Range range : keep) {
    while (next < drop.size() && drop[next].end <= range.begin) ++next;
    for (std::size_t i = next; i < drop.size() && drop[i].begin < range.end; ++i) {
      left.push_back({range.begin, drop[i].begin});
      range.begin = std::max(range.begin, drop[i].end);
    }
    left.push_back(range);
  }
  return normalised(std::move(left));
}

Region region_of(const Range& range) {
  const std::int64_t bytes = range.end - range.begin;
  return {range.begin, 1, bytes, bytes};
}

namespace {

Ranges intersect(const Ranges& a, const Ranges& b) {
  Ranges both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Range range{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (range.begin < range.end) both.push_back(range);
    ++(a[i].end < b[j].end ? i : j);
  }
  return both;
}

// The ranges as one region, when they are runs of one length at one distance.
std::optional<Region> strided(const Ranges& ranges) {
  if (ranges.empty()) return std::nullopt;
  const std::int64_t bytes = ranges[0].end - ranges[0].begin;
  const std::int64_t stride = ranges.size() > 1 ? ranges[1].begin - ranges[0].begin : bytes;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool regular = ranges[i].end - ranges[i].begin == bytes &&
                         ranges[i].begin == ranges[0].begin + static_cast<std::int64_t>(i) * stride;
    if (!regular) return std::nullopt;
  }
  return Region{ranges[0].begin, static_cast<std::int64_t>(ranges.size()), bytes, stride};
}

}  // namespace

Region common(const Region& a, const Region& b) {
  if (contains(a, b)) return b;
  if (contains(b, a)) return a;
  const Ranges shared = intersect(ranges_of(a), ranges_of(b));
  if (const std::optional<Region> region = strided(shared)) return *region;
  return region_of({std::max(a.begin(), b.begin()), std::min(a.end(), b.end())});
}

Region hull(const Region& a, const Region& b) {
  return region_of({std::min(a.begin(), b.begin()), std::max(a.end(), b.end())});
}

}  // namespace moediff
