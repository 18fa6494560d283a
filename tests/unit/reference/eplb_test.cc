// Expert placement: the example of DeepSeek's EPLB README, vectors of an independent stable implementation, and cases
// worked out by hand.
#include "reference/eplb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace moediff::reference {
namespace {

using testing::ElementsAre;

struct EplbVector {
  const char* name;
  std::vector<float> loads;
  EplbShape shape;
  std::vector<std::int32_t> expert_of_slot;
};

const std::vector<EplbVector>& vectors() {
  static const std::vector<float> readme{90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86};
  static const std::vector<EplbVector> all{
      {"ReadmeLayer0", readme, {16, 4, 2, 8}, {5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1}},
      {"ReadmeLayer1WithATie",
       {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27},
       {16, 4, 2, 8},
       {7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1}},
      {"Global", readme, {16, 1, 1, 8}, {10, 6, 10, 7, 0, 2, 11, 4, 5, 9, 5, 4, 8, 3, 1, 1}},
      {"GlobalBecauseNodesDoNotDivideGroups",
       {37, 211, 5, 90, 163, 12, 71, 140},
       {12, 3, 2, 4},
       {3, 7, 2, 4, 1, 0, 4, 1, 5, 6, 1, 7}},
      {"HalfOfAllTwice",
       {31, 7, 120, 64, 210, 19, 88, 53, 2, 147, 175, 40, 99, 26, 68, 11},
       {24, 8, 2, 4},
       {9, 4, 4, 6, 6, 8, 9, 4, 14, 7, 5, 15, 3, 10, 10, 12, 0, 13, 2, 2, 10, 12, 11, 1}},
      {"NoReplicas", {5, 9, 1, 7, 3, 8, 2, 11}, {8, 4, 2, 4}, {1, 2, 3, 0, 7, 6, 5, 4}},
      {"TwoReplicasOnOneGpu", {400, 3, 29, 57, 101, 13}, {8, 1, 1, 2}, {0, 0, 2, 1, 0, 4, 3, 5}},
  };
  return all;
}

class PlaceExperts : public testing::TestWithParam<EplbVector> {};

TEST_P(PlaceExperts, MeetsTheVectorAndIsItsOwnInverse) {
  const EplbVector& expected = GetParam();
  const Placement placement = place_experts(expected.loads, expected.shape);
  EXPECT_EQ(placement.expert_of_slot, expected.expert_of_slot);
  for (std::size_t e = 0; e < expected.loads.size(); ++e) {
    const auto replicas = static_cast<std::size_t>(
        std::count(expected.expert_of_slot.begin(), expected.expert_of_slot.end(), static_cast<std::int32_t>(e)));
    EXPECT_EQ(placement.slots_of_expert[e].size(), replicas);
    for (const std::int32_t slot : placement.slots_of_expert[e]) {
      EXPECT_EQ(expected.expert_of_slot[static_cast<std::size_t>(slot)], static_cast<std::int32_t>(e));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, PlaceExperts, testing::ValuesIn(vectors()),
                         [](const auto& one) { return std::string(one.param.name); });

// Equal loads: experts 0 to 3 go to the GPUs in turn, then each gets its second.
TEST(PlaceExpertsByHand, TakesEqualLoadsInAscendingOrder) {
  const Placement placement = place_experts(std::vector<float>{1, 1, 1, 1}, {4, 1, 1, 2});
  EXPECT_THAT(placement.expert_of_slot, ElementsAre(0, 2, 1, 3));
}

// 10 and 2: the third slot goes to the first expert (10 > 2), the fourth too (5 > 2).
TEST(PlaceExpertsByHand, ReplicatesTheLargestLoadAReplica) {
  const Placement placement = place_experts(std::vector<float>{10, 2}, {4, 1, 1, 4});
  EXPECT_THAT(placement.expert_of_slot, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(placement.slots_of_expert[0], ElementsAre(0, 2, 3));
}

// 16777217 is no float32: both loads round to 2^24, and the lower index comes first.
TEST(PlaceExpertsByHand, LoadsAreFloat32) {
  const std::vector<double> loads{1.0, 16777216.0, 16777217.0, 2.0};
  const Placement placement = place_experts(std::vector<float>(loads.begin(), loads.end()), {4, 1, 1, 2});
  EXPECT_THAT(placement.expert_of_slot, ElementsAre(1, 3, 2, 0));
}

// 2^24 + 1 is 2^24 in float32, so that after one small expert the first GPU still counts as light as the second.
TEST(PlaceExpertsByHand, SumsAreFloat32) {
  const Placement placement = place_experts(std::vector<float>{0x1p24f, 0x1p24f, 1, 1, 1, 1}, {6, 1, 1, 2});
  EXPECT_THAT(placement.expert_of_slot, ElementsAre(0, 2, 3, 1, 4, 5));
}

TEST(PlaceExpertsByHand, ReplicatesTheLowerExpertOnATie) {
  EXPECT_THAT(place_experts(std::vector<float>{5, 5}, {3, 1, 1, 3}).expert_of_slot, ElementsAre(0, 1, 0));
}

TEST(PlaceExpertsByHand, RefusesSizesThatDoNotDivide) {
  const std::vector<float> loads{1, 2, 3, 4};
  EXPECT_THROW(place_experts(loads, {5, 1, 1, 2}), std::logic_error) << "slots by gpus";
  EXPECT_THROW(place_experts(loads, {2, 1, 1, 2}), std::logic_error) << "slots for all";
  EXPECT_THROW(place_experts(loads, {6, 3, 3, 3}), std::logic_error) << "experts by groups";
  EXPECT_THROW(place_experts(loads, {6, 2, 2, 3}), std::logic_error) << "gpus by nodes";
}

// GPU 0 had 4, 5, 6 and gets 6, 7, 4: 4 and 6 stay, 7 takes the free slot. GPU 1 keeps one of its two 9s.
TEST(KeepSlots, ExpertsStayWhereTheyWere) {
  EXPECT_THAT(keep_slots(std::vector<std::int32_t>{6, 7, 4, 9, 1, 2}, std::vector<std::int32_t>{4, 5, 6, 9, 9, 3}, 2),
              ElementsAre(4, 7, 6, 9, 1, 2));
}

TEST(KeepSlots, StaysWithinAGpuAndFillsInOrder) {
  EXPECT_THAT(keep_slots(std::vector<std::int32_t>{1, 2, 3, 4}, std::vector<std::int32_t>{3, 4, 1, 2}, 2),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(keep_slots(std::vector<std::int32_t>{5, 7, 7, 8}, std::vector<std::int32_t>{0, 7, 0, 7}, 1),
              ElementsAre(5, 7, 8, 7));
  EXPECT_THROW(keep_slots(std::vector<std::int32_t>{1, 2}, std::vector<std::int32_t>{1}, 1), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
