// The policies of the router, each on numbers where it decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "reference/api.h"

namespace moediff::reference {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kNoBias;

RouterConfig config(std::int64_t experts, std::int64_t top_k, std::int64_t n_group = 1, std::int64_t topk_group = 1) {
  RouterConfig out{experts, top_k, n_group, topk_group, false, 1.0};
  out.model = DType::bf16;
  return out;
}

TEST(RouterPolicy, SoftmaxDividesByTheSumOverAllExperts) {
  RouterConfig c = config(4, 2);
  c.policy.scoring = Scoring::softmax;
  const std::vector<double> logits{std::log(1.0), std::log(5.0), std::log(3.0), std::log(1.0)};
  const Routing out = route(logits, kNoBias, 1, c);
  EXPECT_THAT(out.score, ElementsAre(DoubleEq(0.1), DoubleEq(0.5), DoubleEq(0.3), DoubleEq(0.1)));
  EXPECT_THAT(out.ids, ElementsAre(1, 2));
  EXPECT_THAT(out.weights, ElementsAre(DoubleEq(0.5), DoubleEq(0.3)));
  c.norm_topk_prob = true;
  EXPECT_THAT(route(logits, kNoBias, 1, c).weights, ElementsAre(DoubleEq(0.625), DoubleEq(0.375)));
}

TEST(RouterPolicy, SoftmaxDoesNotChangeWhenAllLogitsMove) {
  RouterConfig c = config(3, 2);
  c.policy.scoring = Scoring::softmax;
  const Routing here = route(std::vector<double>{1, 3, 2}, kNoBias, 1, c);
  EXPECT_EQ(here.score, route(std::vector<double>{1025, 1027, 1026}, kNoBias, 1, c).score);
  EXPECT_EQ(here.score, route(std::vector<double>{-2047, -2045, -2046}, kNoBias, 1, c).score);
}

TEST(RouterPolicy, BiasInTheModelDtypeIsRoundedBeforeItIsAdded) {
  RouterConfig c = config(2, 1);
  const std::vector<double> logits{0, 0}, bias{0.5, 0.5 + 0x1p-10};  // bf16 has a spacing of 2^-8 there
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(1));
  c.policy.bias_in = KeptIn::model;
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(0));
  EXPECT_THAT(route(logits, bias, 1, c).choice, ElementsAre(1, 1));
}

TEST(RouterPolicy, ScoresInTheModelDtypeAreRoundedAndFreshOnesAreNot) {
  RouterConfig c = config(2, 1);
  const std::vector<double> logits{0, 0x1p-8};  // sigmoid 0.5 and 0.5 + 2^-10
  EXPECT_THAT(route(logits, kNoBias, 1, c).ids, ElementsAre(1));
  c.policy.scores_in = KeptIn::model;
  const Routing out = route(logits, kNoBias, 1, c);
  EXPECT_THAT(out.ids, ElementsAre(0));
  EXPECT_THAT(out.score, ElementsAre(0.5, 0.5));
  EXPECT_NEAR(out.exact_score[1], 0.5 + 0x1p-10, 1e-8);
  const std::vector<std::int32_t> other{1};
  EXPECT_THAT(routing_weights(out, kNoBias, other, 1, c), ElementsAre(0.5));
  c.policy.weight_from = WeightSource::fresh_score;
  EXPECT_THAT(routing_weights(out, kNoBias, other, 1, c), ElementsAre(out.exact_score[1]));
}

TEST(RouterPolicy, ChoiceInTheModelDtypeIsRoundedAfterTheAddition) {
  RouterConfig c = config(2, 1);
  const std::vector<double> logits{0, 0}, bias{0, 0x1p-10};
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(1));
  c.policy.choice_in = KeptIn::model;
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(0));
  c.model = DType::f16;
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(1));  // f16 has a spacing of 2^-11
}

TEST(RouterPolicy, ChoiceMinusBiasLosesWhatTheBiasPushedOut) {
  RouterConfig c = config(2, 2);
  c.policy.weight_from = WeightSource::choice_minus_bias;
  const std::vector<double> logits{std::log(0.3 / 0.7), 0}, bias{100, 0};  // floats near 100 are 2^-17 apart
  EXPECT_THAT(route(logits, bias, 1, c).weights, ElementsAre(39322 * 0x1p-17, 0.5));
  c.policy.choice_in = KeptIn::model;  // bfloat16s near 100 are 1/2 apart
  EXPECT_THAT(route(logits, bias, 1, c).weights, ElementsAre(0.5, 0.5));
}

TEST(RouterPolicy, WeightsInTheModelDtypeAreRoundedLast) {
  RouterConfig c = config(3, 3);
  c.norm_topk_prob = true;
  c.factor = 2.5;
  c.policy.weights_in = KeptIn::model;
  const Routing out = route(std::vector<double>{0, 0, 0}, kNoBias, 1, c);
  EXPECT_THAT(out.weights, ElementsAre(0.83203125, 0.83203125, 0.83203125));  // 0.8333 in steps of 2^-8
}

TEST(RouterPolicy, EpsilonIsAddedToTheSum) {
  RouterConfig c = config(2, 2);
  c.norm_topk_prob = true;
  c.policy.norm_epsilon = 0.25;
  EXPECT_THAT(route(std::vector<double>{0, 0}, kNoBias, 1, c).weights, ElementsAre(0.4, 0.4));  // 0.5 / 1.25
}

TEST(RouterPolicy, MaskOfZeroWinsAgainstNegativeChoicesFromTheLowestIndexOn) {
  RouterConfig c = config(6, 2, 3, 1);
  const std::vector<double> logits(6), bias{-9, -9, 0.5, -2, -8, -9};  // group 1 is the best
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(2, 3));
  c.policy.mask = MaskValue::zero;
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(2, 0));
  const std::vector<double> lower{-9, -9, -1, -2, -8, -9};
  EXPECT_THAT(route(logits, lower, 1, c).ids, ElementsAre(0, 1));
  EXPECT_THAT(route(logits, lower, 1, c).weights, ElementsAre(0.5, 0.5));  // weights are scores, not choices
}

TEST(RouterPolicy, GroupsAreScoredByTheirBestWhenThePolicySaysSo) {
  RouterConfig c = config(4, 2, 2, 1);
  const std::vector<double> logits(4), bias{0.4, -0.4, 0.1, 0};
  EXPECT_THAT(route(logits, bias, 1, c).ids, ElementsAre(2, 3));
  c.policy.group_score = GroupScore::max;
  const Routing out = route(logits, bias, 1, c);
  EXPECT_THAT(out.group_score, ElementsAre(0.9, 0.6));
  EXPECT_THAT(out.ids, ElementsAre(0, 1));
}

TEST(RouterPolicy, CountsTheLargestTwiceWhenTwoExpertsHaveIt) {
  RouterConfig c = config(4, 1, 2, 1);
  EXPECT_THAT(route(std::vector<double>(4), std::vector<double>{0.25, 0.25, 0.4, 0}, 1, c).group_score,
              ElementsAre(1.5, 1.4));
}

TEST(NotFinite, NanCountsAsLowestAndIdsFillUpFromTheLowestIndex) {
  const RouterConfig c = config(4, 3);
  EXPECT_THAT(route(std::vector<double>{kNan, kNan, 1, kNan}, kNoBias, 1, c).ids, ElementsAre(2, 0, 1));
  EXPECT_THAT(route(std::vector<double>{1, kNan, 2, -kInf}, kNoBias, 1, c).ids, ElementsAre(2, 0, 3));
  const Routing out = route(std::vector<double>{kInf, kNan, kNan, 0}, kNoBias, 1, c);
  EXPECT_THAT(out.ids, ElementsAre(0, 3, 1));
  EXPECT_EQ(out.weights[0], 1);
  EXPECT_TRUE(std::isnan(out.weights[2]));
}

TEST(NotFinite, UniformDecidesTokensWithFewerFiniteChoicesThanPlaces) {
  RouterConfig c = config(4, 2);
  c.policy.not_finite = NotFinite::uniform;
  c.norm_topk_prob = true;
  c.factor = 3;
  const Routing out = route(std::vector<double>{kNan, kNan, 1, kNan, kNan, 1, 2, kNan}, kNoBias, 2, c);
  EXPECT_THAT(out.ids, ElementsAre(0, 1, 2, 1));  // two finite choices are enough
  EXPECT_EQ(out.weights[0], 0.5);
  EXPECT_EQ(out.weights[1], 0.5);
  EXPECT_NEAR(out.weights[2] + out.weights[3], 3, 1e-15);
  EXPECT_EQ(routing_weights(out, kNoBias, std::vector<std::int32_t>{3, 2, 2, 1}, 2, c), out.weights);
}

TEST(NotFinite, EveryPolicyNamesDifferentExpertsInRangeForEveryMixture) {
  RouterConfig c = config(6, 3, 3, 2);
  const double values[]{kNan, kInf, -kInf, 0.5};
  for (const Scoring scoring : {Scoring::sigmoid, Scoring::softmax}) {
    for (const MaskValue mask : {MaskValue::neg_inf, MaskValue::zero}) {
      for (const NotFinite not_finite : {NotFinite::lowest, NotFinite::uniform}) {
        c.policy.scoring = scoring;
        c.policy.mask = mask;
        c.policy.not_finite = not_finite;
        for (unsigned mixture = 0; mixture < 4096; ++mixture) {
          std::vector<double> logits;
          for (unsigned e = 0; e < 6; ++e) logits.push_back(values[mixture >> (2 * e) & 3]);
          const Routing out = route(logits, kNoBias, 1, c);
          ASSERT_EQ(std::set<std::int32_t>(out.ids.begin(), out.ids.end()).size(), 3u) << mixture;
          for (const std::int32_t id : out.ids) ASSERT_TRUE(0 <= id && id < 6) << mixture;
        }
      }
    }
  }
}

}  // namespace
}  // namespace moediff::reference
