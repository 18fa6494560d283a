// The gate on logits whose outcome can be worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/api.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;

/// Logits whose sigmoid is `scores`.
std::vector<double> logits_of(const std::vector<double>& scores) {
  std::vector<double> logits;
  for (const double score : scores) logits.push_back(std::log(score / (1 - score)));
  return logits;
}
constexpr RouterConfig kOneGroup{4, 2, 1, 1, true, 1.0};
constexpr RouterConfig kTwoGroups{4, 2, 2, 1, true, 1.0};
const std::vector<double> kNoBias(4);

TEST(Route, TakesTheLargestScoresInDescendingOrder) {
  const Routing out = route(logits_of({0.2, 0.6, 0.1, 0.4}), kNoBias, 1, kOneGroup);
  EXPECT_THAT(out.ids, ElementsAre(1, 3));
  EXPECT_NEAR(out.weights[0], 0.6, 1e-15);
  EXPECT_NEAR(out.weights[1], 0.4, 1e-15);
}

TEST(Route, ChoosesByScorePlusBiasButWeighsByTheScoreAlone) {
  const Routing out = route(logits_of({0.25, 0.5, 0.5, 0.75}), std::vector<double>{0.9, 0, 0, 0}, 1, kOneGroup);
  EXPECT_THAT(out.ids, ElementsAre(0, 3));
  EXPECT_NEAR(out.choice[0], 1.15, 1e-15);
  EXPECT_NEAR(out.weights[0], 0.25, 1e-15);
  EXPECT_NEAR(out.weights[1], 0.75, 1e-15);
}

TEST(Route, ScoresAGroupByItsTwoBestNotByTheBest) {
  const Routing out = route(logits_of({0.9, 0.1, 0.6, 0.5}), kNoBias, 1, kTwoGroups);
  EXPECT_NEAR(out.group_score[0], 1.0, 1e-15);
  EXPECT_NEAR(out.group_score[1], 1.1, 1e-15);
  EXPECT_THAT(out.ids, ElementsAre(2, 3));
}

TEST(Route, ScoresAGroupOfOneByItsOnlyExpert) {
  const Routing out = route(logits_of({0.2, 0.6, 0.1, 0.4}), kNoBias, 1, {4, 2, 4, 2, true, 1.0});
  EXPECT_EQ(out.group_score, out.choice);
  EXPECT_THAT(out.ids, ElementsAre(1, 3));
}

TEST(Route, LeavesOutGroupsEvenWhenAllChoicesAreNegative) {
  // With a mask of 0 instead of -inf, experts of the group that is out would win.
  const std::vector<double> bias(4, -2.0);
  EXPECT_THAT(route(logits_of({0.9, 0.1, 0.6, 0.5}), bias, 1, kTwoGroups).ids, ElementsAre(2, 3));
  EXPECT_THAT(route(logits_of({0.6, 0.5, 0.9, 0.1}), bias, 1, kTwoGroups).ids, ElementsAre(0, 1));
}

TEST(Route, PrefersTheLowerIndexOnTiesOfExpertsAndGroups) {
  EXPECT_THAT(route(std::vector<double>(4, 0.3), kNoBias, 1, kOneGroup).ids, ElementsAre(0, 1));
  EXPECT_THAT(route(std::vector<double>(4, 0.3), kNoBias, 1, kTwoGroups).ids, ElementsAre(0, 1));
  EXPECT_THAT(route(std::vector<double>{0, 1, 1, 1}, kNoBias, 1, kOneGroup).ids, ElementsAre(1, 2));
}

TEST(Route, DecidesEachTokenByItself) {
  const Routing out = route(logits_of({0.2, 0.6, 0.1, 0.4, 0.7, 0.1, 0.8, 0.2}), kNoBias, 2, kOneGroup);
  EXPECT_THAT(out.ids, ElementsAre(1, 3, 2, 0));
}

TEST(Route, StaysExactFarOut) {
  const Routing out = route(std::vector<double>{-700, -701, 700, -1e308}, kNoBias, 1, {4, 4, 1, 1, false, 1.0});
  EXPECT_NEAR(out.score[0] / std::exp(-700.0), 1.0, 1e-15);
  EXPECT_EQ(out.score[2], 1.0);
  EXPECT_EQ(out.score[3], 0.0);
  EXPECT_THAT(out.ids, ElementsAre(2, 0, 1, 3));
}

TEST(Route, StillNamesDifferentExpertsWhenLogitsAreNan) {
  const std::vector<double> logits(4, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(route(logits, kNoBias, 1, kOneGroup).ids, ElementsAre(0, 1));
}

/// Weights of ids whose scores are given.
std::vector<double> weights_of(const std::vector<double>& scores, const std::vector<std::int32_t>& ids, bool normalise,
                               double factor) {
  Routing routing;
  routing.exact_score = routing.score = routing.choice = scores;
  const auto experts = static_cast<std::int64_t>(scores.size()), top_k = static_cast<std::int64_t>(ids.size());
  return routing_weights(routing, {}, ids, 1, {experts, top_k, 1, 1, normalise, factor});
}

TEST(RoutingWeights, NormaliseOnlyWhenAskedAndMultiplyByTheFactor) {
  const std::vector<double> score{0.25, 0.5, 0.75, 0.25};
  EXPECT_THAT(weights_of(score, {2, 0}, true, 2.0), ElementsAre(1.5, 0.5));
  EXPECT_THAT(weights_of(score, {2, 0}, false, 2.0), ElementsAre(1.5, 0.5));
  EXPECT_THAT(weights_of(score, {1, 0}, false, 2.0), ElementsAre(1.0, 0.5));
  EXPECT_THAT(weights_of(score, {0, 3}, true, 2.0), ElementsAre(1.0, 1.0));
}

TEST(RoutingWeights, HaveNoEpsilonInTheSum) {
  EXPECT_THAT(weights_of({1e-300, 3e-300}, {0, 1}, true, 1.0),
              ElementsAre(testing::DoubleNear(0.25, 1e-15), testing::DoubleNear(0.75, 1e-15)));
}

TEST(Route, RefusesConfigurationsThatMeanNothing) {
  const std::vector<double> logits(4);
  EXPECT_THROW(route(logits, kNoBias, 1, {4, 2, 3, 1, true, 1.0}), std::logic_error);
  EXPECT_THROW(route(logits, kNoBias, 1, {4, 2, 2, 3, true, 1.0}), std::logic_error);
  EXPECT_THROW(route(logits, kNoBias, 1, {4, 3, 2, 1, true, 1.0}), std::logic_error);
  EXPECT_THROW(route(logits, kNoBias, 2, kOneGroup), std::logic_error);
  EXPECT_THROW(route(logits, std::vector<double>(3), 1, kOneGroup), std::logic_error);
  EXPECT_THROW(weights_of(logits, {0, 4}, true, 1.0), std::logic_error);
  EXPECT_THROW(weights_of(logits, {0, -1}, true, 1.0), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
