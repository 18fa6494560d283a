// The dispatch: a stable counting sort.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

struct Sorted {
  Array offsets, slots, rows;
};

Sorted dispatch(Device& device, const Array& ids, std::int64_t experts, std::int64_t pad = 0) {
  const auto count = static_cast<std::int64_t>(ids.values.size());
  const md_tensor offsets = device.blank({experts + 1}, MD_I32), slots = device.blank({count}, MD_I32),
                  rows = device.blank({count}, MD_I32);
  device.run(MD_OP_DISPATCH, {device.upload(ids, MD_I32, pad), offsets, slots, rows});
  return {device.read(offsets), device.read(slots), device.read(rows)};
}

/// Ids in [0, experts).
Array random_ids(std::int64_t tokens, std::int64_t width, std::int64_t experts) {
  Array ids = integers({tokens, width}, static_cast<std::uint64_t>(tokens + experts), 1 << 20);
  for (double& id : ids.values) id = static_cast<double>(static_cast<std::int64_t>(id + (1 << 20)) % experts);
  return ids;
}

TEST(Dispatch, SortsStablyForHardSizesOfTokensAndExperts) {
  Device device;
  for (const std::int64_t tokens : kHardSizes) {
    for (const std::int64_t experts : {1, 3, 64, 65, 256}) {
      const Array ids = random_ids(tokens, 3, experts);
      const Sorted actual = dispatch(device, ids, experts);
      const NaiveDispatch expected = naive_dispatch(ids, experts);
      ASSERT_THAT(actual.offsets.values, ElementsAreArray(expected.offsets.values))
          << "T=" << tokens << " E=" << experts;
      ASSERT_THAT(actual.slots.values, ElementsAreArray(expected.slots.values)) << "T=" << tokens << " E=" << experts;
      ASSERT_THAT(actual.rows.values, ElementsAreArray(expected.rows.values)) << "T=" << tokens << " E=" << experts;
    }
  }
}

TEST(Dispatch, SortsMoreSlotsThanOneTileOfIdsHolds) {
  Device device;
  const Array ids = random_ids(700, 3, 8);
  EXPECT_THAT(dispatch(device, ids, 8).slots.values, ElementsAreArray(naive_dispatch(ids, 8).slots.values));
}

TEST(Dispatch, ExpertsWithoutTokensHaveEmptyRanges) {
  Device device;
  const Sorted actual = dispatch(device, {{2, 2}, {3, 1, 3, 3}}, 5);
  EXPECT_THAT(actual.offsets.values, ElementsAre(0, 0, 1, 1, 4, 4));
  EXPECT_THAT(actual.slots.values, ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(actual.rows.values, ElementsAre(1, 0, 2, 3));
}

TEST(Dispatch, RespectsTheRowStrideOfTheIds) {
  Device device;
  const Array ids = random_ids(9, 2, 4);
  EXPECT_THAT(dispatch(device, ids, 4, 3).slots.values, ElementsAreArray(naive_dispatch(ids, 4).slots.values));
}

TEST(Dispatch, NoTokensGiveZeroOffsets) {
  Device device;
  EXPECT_THAT(dispatch(device, constant({0, 2}, 0), 7).offsets.values, Each(0));
}

TEST(Dispatch, IdsThatAreNoExpertGetNoRow) {
  Device device;
  const Sorted actual = dispatch(device, {{1, 4}, {-1, 1, 2, 1}}, 2);
  EXPECT_THAT(actual.offsets.values, ElementsAre(0, 0, 2));
  EXPECT_THAT(actual.rows.values, ElementsAre(-1, 0, -1, 1));
}

}  // namespace
}  // namespace moediff::test
