// Legitimate and illegitimate choices of experts.
#include "harness/compare/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace moediff {
namespace {

/// Logit with the given sigmoid.
double logit(double score) { return std::log(score / (1 - score)); }

std::vector<double> logits_of(std::vector<double> scores) {
  for (double& score : scores) score = static_cast<float>(logit(score));
  return scores;
}

RoutingCheck check(const std::vector<double>& scores, const std::vector<std::int32_t>& ids, std::int64_t n_group = 1,
                   std::int64_t topk_group = 1) {
  const auto experts = static_cast<std::int64_t>(scores.size());
  const std::vector<double> bias(scores.size(), 0.0);
  return check_routing(logits_of(scores), bias, ids, 1,
                       {experts, static_cast<std::int64_t>(ids.size()), n_group, topk_group, true, 1});
}

constexpr double kTiny = 1e-8;  // below the fp32 error of a score near 0.5

TEST(Routing, TheTopScoresInAnyOrderAreLegitimate) {
  EXPECT_EQ(check({0.1, 0.7, 0.3, 0.5}, {1, 3}).illegitimate, 0);
  EXPECT_EQ(check({0.1, 0.7, 0.3, 0.5}, {3, 1}).illegitimate, 0);
  EXPECT_EQ(check({0.1, 0.7, 0.3, 0.5}, {3, 1}).near_ties, 0);
}

TEST(Routing, AWorseExpertIsWrongAndNamed) {
  const RoutingCheck wrong = check({0.1, 0.7, 0.3, 0.5}, {1, 2});
  EXPECT_EQ(wrong.illegitimate, 1);
  ASSERT_EQ(wrong.mismatches.size(), 1u);
  EXPECT_EQ(wrong.mismatches[0].token, 0);
  EXPECT_EQ(wrong.mismatches[0].expert, 2);
  EXPECT_EQ(wrong.mismatches[0].slot, 1);
  EXPECT_NEAR(wrong.mismatches[0].expected, 0.5, 1e-6);
  EXPECT_NEAR(wrong.mismatches[0].actual, 0.3, 1e-6);
}

TEST(Routing, EitherSideOfANearTieIsLegitimateAndCounted) {
  for (const std::int32_t second : {2, 3}) {
    const RoutingCheck near = check({0.1, 0.7, 0.5 - kTiny, 0.5}, {1, second});
    EXPECT_EQ(near.illegitimate, 0);
    EXPECT_EQ(near.near_ties, 1);
  }
}

TEST(Routing, TheErrorsOfBothScoresCount) {
  // A score of 0.5 errs by 2.7e-7, a margin of 4e-7 is less than two such errors.
  EXPECT_EQ(check({0.1, 0.7, 0.5 - 4e-7, 0.5}, {1, 2}).illegitimate, 0);
  EXPECT_EQ(check({0.1, 0.7, 0.5 - 7e-7, 0.5}, {1, 2}).illegitimate, 1);
}

TEST(Routing, AMarginOfTenScoreErrorsIsNoTie) {
  const RoutingCheck wrong = check({0.1, 0.7, 0.5 - 1e-5, 0.5}, {1, 2});
  EXPECT_EQ(wrong.illegitimate, 1);
  EXPECT_EQ(wrong.near_ties, 0);
}

TEST(Routing, ANearTieDoesNotExcuseAThirdExpert) {
  EXPECT_EQ(check({0.1, 0.7, 0.5 - kTiny, 0.5}, {1, 0}).illegitimate, 1);
}

TEST(Routing, RepeatedAndMissingExpertsAreUnusable) {
  for (const std::vector<std::int32_t>& ids : {std::vector<std::int32_t>{1, 1}, {1, 4}, {-1, 1}}) {
    const RoutingCheck wrong = check({0.1, 0.7, 0.3, 0.5}, ids);
    EXPECT_EQ(wrong.illegitimate, 1);
    EXPECT_FALSE(wrong.usable[0]);
  }
}

TEST(Routing, ExpertsOutsideTheBestGroupsAreWrong) {
  // Groups {0,1} with 1.3 and {2,3} with 1.0: expert 2 is second best, but its group is out.
  EXPECT_EQ(check({0.7, 0.6, 0.65, 0.35}, {0, 1}, 2, 1).illegitimate, 0);
  EXPECT_EQ(check({0.7, 0.6, 0.65, 0.35}, {0, 2}, 2, 1).illegitimate, 1);
}

TEST(Routing, ANearTieOfGroupsAllowsEitherGroupButNotAMixture) {
  const std::vector<double> scores{0.7, 0.5, 0.8, 0.4 - kTiny};
  EXPECT_EQ(check(scores, {0, 1}, 2, 1).illegitimate, 0);
  EXPECT_EQ(check(scores, {2, 3}, 2, 1).illegitimate, 0);
  EXPECT_EQ(check(scores, {0, 2}, 2, 1).illegitimate, 1);
  EXPECT_EQ(check(scores, {0, 1}, 2, 1).near_ties, 1);
}

TEST(Routing, ANearTieOfTheBestGroupsDoesNotExcuseAThirdGroup) {
  EXPECT_EQ(check({0.7, 0.5, 0.8, 0.4 - kTiny, 0.3, 0.2}, {4, 5}, 3, 1).illegitimate, 1);
}

TEST(Routing, AGroupInANearTieThatExplainsTheChoiceIsFound) {
  // Group {0,1} is selected; {2,3} and {4,5} tie for the second place. With {2,3} expert 2 must be chosen, with {4,5}
  // not.
  const std::vector<double> scores{0.9, 0.8, 0.95, 0.1 + kTiny, 0.55, 0.5};
  EXPECT_EQ(check(scores, {0, 1}, 3, 2).illegitimate, 0);
  EXPECT_EQ(check(scores, {2, 0}, 3, 2).illegitimate, 0);
  EXPECT_EQ(check(scores, {2, 1}, 3, 2).illegitimate, 1);
  EXPECT_EQ(check(scores, {0, 4}, 3, 2).illegitimate, 1);
}

TEST(Routing, ASelectedGroupMayContributeNoExpert) {
  // Both of the best two groups are selected; the two best experts are in the first.
  EXPECT_EQ(check({0.9, 0.8, 0.7, 0.6, 0.1, 0.1}, {0, 1}, 3, 2).illegitimate, 0);
  EXPECT_EQ(check({0.9, 0.7, 0.8, 0.6, 0.1, 0.1}, {0, 1}, 3, 2).illegitimate, 1);
}

TEST(Routing, TheBiasTakesPartInTheChoice) {
  const std::vector<double> logits = logits_of({0.1, 0.7, 0.3, 0.5}), bias{0.65, 0, 0, 0};
  const std::vector<std::int32_t> biased{0, 1}, unbiased{1, 3};
  const reference::RouterConfig config{4, 2, 1, 1, true, 1};
  EXPECT_EQ(check_routing(logits, bias, biased, 1, config).illegitimate, 0);
  EXPECT_EQ(check_routing(logits, bias, unbiased, 1, config).illegitimate, 1);
}

TEST(Routing, NonFiniteLogitsAskOnlyForDistinctExperts) {
  const std::vector<double> logits{NAN, 1, INFINITY, 0}, bias(4, 0.0);
  const std::vector<std::int32_t> any{0, 3}, same{3, 3};
  const reference::RouterConfig config{4, 2, 1, 1, true, 1};
  EXPECT_EQ(check_routing(logits, bias, any, 1, config).illegitimate, 0);
  EXPECT_EQ(check_routing(logits, bias, same, 1, config).illegitimate, 1);
}

TEST(Routing, ThreeNearTiesAreAlwaysAllowedAndThenTwoPercent) {
  EXPECT_FALSE(too_many_near_ties(3, 5));
  EXPECT_TRUE(too_many_near_ties(4, 5));
  EXPECT_FALSE(too_many_near_ties(20, 1000));
  EXPECT_TRUE(too_many_near_ties(21, 1000));
}

}  // namespace
}  // namespace moediff
