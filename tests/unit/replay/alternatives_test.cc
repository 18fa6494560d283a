// The sets of experts that are as right as the reference's, by hand.
#include "harness/replay/alternatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace moediff {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Ids = std::vector<std::int32_t>;

/// Six experts, two a token; the choice is the logit itself plus a half.
reference::Routing routing_of(const std::vector<double>& choice, std::int64_t groups, MaskValue mask,
                              reference::RouterConfig& config) {
  config = {6, 2, groups, 1, false, 1};
  config.policy.mask = mask;
  config.policy.group_score = GroupScore::max;
  std::vector<double> bias;
  for (const double value : choice) bias.push_back(value - 0.5);  // sigmoid(0) = 1/2
  return reference::route(std::vector<double>(6), bias, 1, config);
}

std::vector<Ids> sets_of(const std::vector<double>& choice, std::int64_t groups = 1,
                         MaskValue mask = MaskValue::neg_inf, std::size_t limit = 64) {
  reference::RouterConfig config;
  const reference::Routing routing = routing_of(choice, groups, mask, config);
  std::vector<Ids> sets = alternatives(routing, config, 0, 1e-9, limit);
  for (Ids& set : sets) std::sort(set.begin(), set.end());
  return sets;
}

TEST(Alternatives, ThereAreNoneWhereTheLastTakenIsClear) {
  EXPECT_THAT(sets_of({0.1, 0.9, 0.8, 0.2, 0.3, 0.4}), ElementsAre(Ids{1, 2}));
}

TEST(Alternatives, TheReferencesSetComesFirst) {
  const std::vector<Ids> sets = sets_of({0.1, 0.5, 0.5, 0.9, 0.5, 0.2});
  EXPECT_EQ(sets.front(), (Ids{1, 3}));
  EXPECT_THAT(sets, UnorderedElementsAre(Ids{1, 3}, Ids{2, 3}, Ids{3, 4}));
}

TEST(Alternatives, ChoicesWithinTheToleranceAreEqual) {
  EXPECT_EQ(sets_of({0.1, 0.5, 0.5 - 1e-10, 0.9, 0.3, 0.2}).size(), 2u);
  EXPECT_EQ(sets_of({0.1, 0.5, 0.5 - 1e-8, 0.9, 0.3, 0.2}).size(), 1u);
}

// Two groups of three, one kept: the second. With mask 0 its negative choices lose to all that are out.
TEST(Alternatives, ExpertsOutsideTheGroupsAreEqualByTheirMask) {
  const std::vector<double> choice{-0.9, -0.8, -0.7, 0.5, -0.1, -0.2};
  EXPECT_THAT(sets_of(choice, 2, MaskValue::zero), UnorderedElementsAre(Ids{0, 3}, Ids{1, 3}, Ids{2, 3}));
  EXPECT_THAT(sets_of(choice, 2, MaskValue::neg_inf), ElementsAre(Ids{3, 4}));
}

TEST(Alternatives, TooManyAreLeftAtTheReferencesOwn) {
  const std::vector<double> equal(6, 0.5);
  EXPECT_EQ(sets_of(equal).size(), 15u);
  EXPECT_EQ(sets_of(equal, 1, MaskValue::neg_inf, 15).size(), 15u);
  EXPECT_THAT(sets_of(equal, 1, MaskValue::neg_inf, 14), ElementsAre(Ids{0, 1}));
}

}  // namespace
}  // namespace moediff
