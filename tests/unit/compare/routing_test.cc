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

/// One token.
RoutingCheck check(const std::vector<double>& logits, const std::vector<double>& bias,
                   const std::vector<std::int32_t>& ids, const reference::RouterConfig& config) {
  return check_routing(reference::route(logits, bias, 1, config), logits, bias, ids, 1, config);
}

RoutingCheck check(const std::vector<double>& scores, const std::vector<std::int32_t>& ids, std::int64_t n_group = 1,
                   std::int64_t topk_group = 1) {
  const auto experts = static_cast<std::int64_t>(scores.size());
  const std::vector<double> bias(scores.size(), 0.0);
  return check(logits_of(scores), bias, ids,
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
  EXPECT_EQ(check(logits, bias, biased, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, unbiased, config).illegitimate, 1);
}

TEST(Routing, AChoiceThatIsNoNumberIsTakenLast) {
  // sigmoid(inf) is 1, so expert 2 is first and expert 1 second.
  const std::vector<double> logits{NAN, 1, INFINITY, 0}, bias(4, 0.0);
  const reference::RouterConfig config{4, 2, 1, 1, true, 1};
  EXPECT_EQ(check(logits, bias, {2, 1}, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, {0, 2}, config).illegitimate, 1);
  EXPECT_EQ(check(logits, bias, {3, 3}, config).illegitimate, 1);
}

TEST(Routing, IdsFillUpFromTheLowestWhereTooFewChoicesAreNumbers) {
  const std::vector<double> logits{NAN, NAN, 0.5, NAN}, bias(4, 0.0);
  const reference::RouterConfig config{4, 2, 1, 1, true, 1};
  EXPECT_EQ(check(logits, bias, {2, 0}, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, {2, 1}, config).illegitimate, 1);
}

TEST(Routing, TheUniformFallbackIsExact) {
  const std::vector<double> logits{NAN, NAN, 0.5, NAN}, bias(4, 0.0);
  reference::RouterConfig config{4, 2, 1, 1, true, 1};
  config.policy.not_finite = NotFinite::uniform;
  EXPECT_EQ(check(logits, bias, {0, 1}, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, {2, 0}, config).illegitimate, 1);
}

TEST(Routing, ScoresRoundedToBf16TieWhereTheLogitsDoNot) {
  // 0.7501 and 0.7499 are both 0.75 in bf16; in fp32 they are a thousand errors apart.
  const std::vector<double> logits = logits_of({0.7501, 0.7499, 0.2, 0.1}), bias(4, 0.0);
  reference::RouterConfig config{4, 1, 1, 1, true, 1};
  EXPECT_EQ(check(logits, bias, {1}, config).illegitimate, 1);
  config.model = DType::bf16;
  config.policy.scores_in = KeptIn::model;
  EXPECT_EQ(check(logits, bias, {1}, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, {1}, config).near_ties, 1);
  EXPECT_EQ(check(logits, bias, {2}, config).illegitimate, 1);
}

TEST(Routing, AnFp32ErrorMayFlipTheRoundingOfAScore) {
  // 0.5 + 2^-9 is half-way between two bf16 numbers: expert 0 may be 0.5, where it ties with expert 1.
  const std::vector<double> logits = logits_of({0.5 + 0x1p-9, 0.5, 0.2, 0.1}), bias(4, 0.0);
  reference::RouterConfig config{4, 1, 1, 1, true, 1};
  config.model = DType::bf16;
  config.policy.scores_in = KeptIn::model;
  EXPECT_EQ(check(logits, bias, {1}, config).illegitimate, 0);
  const std::vector<double> apart = logits_of({0.5 + 0x1.1p-8, 0.5, 0.2, 0.1});
  EXPECT_EQ(check(apart, bias, {1}, config).illegitimate, 1);
}

TEST(Routing, ABiasRoundedToBf16ChangesTheChoice) {
  const std::vector<double> logits = logits_of({0.5, 0.5}), bias{1.001, 1.0};  // bf16: both 1
  reference::RouterConfig config{2, 1, 1, 1, true, 1};
  EXPECT_EQ(check(logits, bias, {1}, config).illegitimate, 1);
  config.model = DType::bf16;
  config.policy.bias_in = KeptIn::model;
  EXPECT_EQ(check(logits, bias, {1}, config).illegitimate, 0);
}

TEST(Routing, AMaskOfZeroLetsOutsidersWinAgainstNegativeChoices) {
  // Group {0,1} is best with -0.1 and -0.3; outside it everybody counts as 0.
  const std::vector<double> logits = logits_of({0.9, 0.7, 0.5, 0.4}), bias{-1, -1, -1, -1};
  reference::RouterConfig config{4, 2, 2, 1, true, 1};
  EXPECT_EQ(check(logits, bias, {0, 1}, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, {2, 3}, config).illegitimate, 1);
  config.policy.mask = MaskValue::zero;
  EXPECT_EQ(check(logits, bias, {2, 3}, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, {0, 1}, config).illegitimate, 1);
  EXPECT_EQ(check(logits, bias, {0, 2}, config).illegitimate, 1);
}

TEST(Routing, TheBestGroupByMaximumIsNotThatBySum) {
  const std::vector<double> logits = logits_of({0.9, 0.1, 0.7, 0.6}), bias(4, 0.0);
  reference::RouterConfig config{4, 1, 2, 1, true, 1};
  EXPECT_EQ(check(logits, bias, {2}, config).illegitimate, 0);
  EXPECT_EQ(check(logits, bias, {0}, config).illegitimate, 1);
  config.policy.group_score = GroupScore::max;
  EXPECT_EQ(check(logits, bias, {2}, config).illegitimate, 1);
  EXPECT_EQ(check(logits, bias, {0}, config).illegitimate, 0);
}

TEST(Routing, SoftmaxScoresErrWithTheirDistanceFromTheMaximum) {
  // Far below the largest logit a score errs by about 4u + |z - max| u of itself.
  const std::vector<double> logits{20, 0, static_cast<float>(-2e-6), -1}, bias(4, 0.0);
  reference::RouterConfig config{4, 2, 1, 1, true, 1};
  config.policy.scoring = Scoring::softmax;
  EXPECT_EQ(check(logits, bias, {0, 2}, config).illegitimate, 0);
  const std::vector<double> apart{20, 0, -1e-4, -1};
  EXPECT_EQ(check(apart, bias, {0, 2}, config).illegitimate, 1);
}

TEST(Routing, ThreeNearTiesAreAlwaysAllowedAndThenTwoPercentBeyondTheExpected) {
  EXPECT_FALSE(too_many_near_ties(3, 0, 5));
  EXPECT_TRUE(too_many_near_ties(4, 0, 5));
  EXPECT_FALSE(too_many_near_ties(4, 1, 5));
  EXPECT_FALSE(too_many_near_ties(20, 0, 1000));
  EXPECT_TRUE(too_many_near_ties(21, 0, 1000));
  EXPECT_FALSE(too_many_near_ties(420, 400, 1000));
  EXPECT_TRUE(too_many_near_ties(421, 400, 1000));
}

TEST(Routing, ALogitsOwnErrorWidensTheTiesThatAreExpected) {
  const std::vector<double> logits = logits_of({0.5 + 1e-5, 0.5, 0.1}), none, bias(3, 0.0);
  const reference::RouterConfig config{3, 1, 1, 1, true, 1};
  EXPECT_EQ(count_near_ties(logits, none, bias, 1, config), 0);
  EXPECT_EQ(count_near_ties(logits, std::vector<double>(3, 1e-4), bias, 1, config), 1);
}

}  // namespace
}  // namespace moediff
