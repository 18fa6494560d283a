// Interval arithmetic, against sets of single bytes.
#include "harness/order/ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace moediff {
namespace {

std::set<std::int64_t> bytes_of(const Ranges& ranges) {
  std::set<std::int64_t> bytes;
  for (const Range& range : ranges) {
    for (std::int64_t byte = range.begin; byte < range.end; ++byte) bytes.insert(byte);
  }
  return bytes;
}

TEST(Ranges, SubtractionAgreesWithSetsOfBytes) {
  std::mt19937 engine(1);
  const auto random_ranges = [&] {
    Ranges ranges;
    for (auto i = engine() % 5; i > 0; --i) {
      const auto begin = static_cast<std::int64_t>(engine() % 40);
      ranges.push_back({begin, begin + static_cast<std::int64_t>(engine() % 8)});
    }
    return ranges;
  };
  for (int i = 0; i < 500; ++i) {
    const Ranges from = random_ranges(), cut = random_ranges();
    std::set<std::int64_t> expected = bytes_of(from);
    for (const std::int64_t byte : bytes_of(cut)) expected.erase(byte);
    EXPECT_EQ(bytes_of(subtract(from, cut)), expected);
  }
}

TEST(Ranges, ARegionTurnsIntoItsRuns) {
  EXPECT_EQ(ranges_of({4, 3, 2, 10}), (Ranges{{4, 6}, {14, 16}, {24, 26}}));
  EXPECT_EQ(ranges_of({0, 3, 10, 10}), (Ranges{{0, 30}}));
  EXPECT_EQ(ranges_of({4, 2, 2, 10}, 3), (Ranges{{1, 9}, {11, 19}}));
}

TEST(Ranges, CommonBytesOfNestedRegionsAreTheInnerOnes) {
  const Region whole{0, 1, 100, 100}, view{10, 3, 4, 20};
  EXPECT_EQ(common(whole, view), view);
  EXPECT_EQ(common(view, whole), view);
  EXPECT_EQ(common({0, 1, 30, 30}, {20, 1, 30, 30}), (Region{20, 1, 10, 10}));
}

}  // namespace
}  // namespace moediff
