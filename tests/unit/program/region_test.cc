// Strided regions against sets of single bytes.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "harness/program/program.h"

namespace moediff {
namespace {

std::set<std::int64_t> bytes_of(const Region& region) {
  std::set<std::int64_t> bytes;
  for (std::int64_t row = 0; row < region.rows; ++row) {
    for (std::int64_t i = 0; i < region.row_bytes; ++i) bytes.insert(region.offset + row * region.stride + i);
  }
  return bytes;
}

bool share_a_byte(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::int64_t byte) { return b.count(byte) > 0; });
}

Region random_region(std::mt19937& engine) {
  const auto below = [&](int n) { return static_cast<std::int64_t>(engine() % static_cast<unsigned>(n)); };
  Region region;
  region.offset = below(20);
  region.rows = below(6);
  region.row_bytes = below(6);
  region.stride = region.row_bytes + below(5);
  return region;
}

TEST(Region, OverlapAndContainsAgreeWithSetsOfBytes) {
  std::mt19937 engine(7);
  int overlapping = 0, contained = 0;
  for (int i = 0; i < 20000; ++i) {
    const Region a = random_region(engine), b = random_region(engine);
    const std::set<std::int64_t> in_a = bytes_of(a), in_b = bytes_of(b);
    const bool subset = std::includes(in_a.begin(), in_a.end(), in_b.begin(), in_b.end());
    ASSERT_EQ(overlap(a, b), share_a_byte(in_a, in_b)) << to_string(a) << " / " << to_string(b);
    ASSERT_EQ(contains(a, b), subset) << to_string(a) << " / " << to_string(b);
    overlapping += overlap(a, b) ? 1 : 0;
    contained += !in_b.empty() && contains(a, b) ? 1 : 0;
  }
  EXPECT_GT(overlapping, 2000);
  EXPECT_GT(contained, 500);
}

TEST(Region, TextNamesRowsOrBytes) {
  EXPECT_EQ(to_string(Region{0, 5, 640, 640}), "rows 0-4 of 640 bytes");
  EXPECT_EQ(to_string(Region{1280, 2, 640, 640}), "rows 2-3 of 640 bytes");
  EXPECT_EQ(to_string(Region{8, 3, 4, 24}), "rows 0-2 of 4 bytes from byte 8");
  EXPECT_EQ(to_string(Region{16, 1, 32, 0}), "bytes 16-47");
  EXPECT_EQ(to_string(Region{}), "no bytes");
}

}  // namespace
}  // namespace moediff
