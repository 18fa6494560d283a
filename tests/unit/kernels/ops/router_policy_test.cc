// Every policy of the router against its definition, alone and together, on data where it makes a difference; and by
// hand where numbers can be followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/kernels/ops/naive.h"
#include "tests/unit/kernels/ops/naive_router.h"

namespace moediff::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

struct Policy {
  const char* name;
  void (*set)(md_params&);
  bool only_narrow = false;  ///< makes no difference in f32
};

/// `name` belongs to a test's name.
constexpr Policy kPolicies[] = {
    {"GroupMax", [](md_params& p) { p.group_score = MD_GROUP_MAX; }},
    {"MaskZero", [](md_params& p) { p.mask = MD_MASK_ZERO; }},
    {"Softmax", [](md_params& p) { p.scoring = MD_SCORING_SOFTMAX; }},
    {"SoftmaxGroupMax", [](md_params& p) { p.scoring = MD_SCORING_SOFTMAX, p.group_score = MD_GROUP_MAX; }},
    {"ScoresInModel", [](md_params& p) { p.scores_in = MD_IN_MODEL; }, true},
    {"BiasInModel", [](md_params& p) { p.bias_in = p.choice_in = MD_IN_MODEL; }, true},
    {"ChoiceInModel", [](md_params& p) { p.choice_in = MD_IN_MODEL; }, true},
    {"WeightsInModel", [](md_params& p) { p.weights_in = MD_IN_MODEL; }, true},
    {"FreshScore", [](md_params& p) { p.weight_from = MD_WEIGHT_FRESH_SCORE, p.scores_in = MD_IN_MODEL; }, true},
    {"ChoiceMinusBias", [](md_params& p) { p.weight_from = MD_WEIGHT_CHOICE_MINUS_BIAS, p.choice_in = MD_IN_MODEL; },
     true},
    {"Epsilon", [](md_params& p) { p.norm_epsilon = 0.25f; }},
    {"NoNormalisation", [](md_params& p) { p.norm_topk_prob = 0; }},
    {"Factor", [](md_params& p) { p.factor = 2.5f; }},
    {"VllmCuda",
     [](md_params& p) {
       p.scores_in = p.bias_in = p.choice_in = MD_IN_MODEL;
       p.weight_from = MD_WEIGHT_FRESH_SCORE;
       p.norm_epsilon = 1e-20f;
       p.factor = 2.5f;
     },
     true},
    {"Aiter",
     [](md_params& p) {
       p.bias_in = MD_IN_MODEL;
       p.weight_from = MD_WEIGHT_CHOICE_MINUS_BIAS;
       p.factor = 2.5f;
     },
     true},
};

class RouterPolicies : public ::testing::TestWithParam<Policy> {
 protected:
  static constexpr std::int64_t kTokens = 257, kExperts = 24;
  Device device;
  /// Biases so far below 0 that some choices are negative.
  Array bias = biases();
  static Array biases() {
    Array b = normals({kExperts}, 12);
    for (double& v : b.values) v = 0.3 * v - 0.6;
    return rounded(b, MD_F32);
  }
  RouterRun run_in(md_dtype model) const {
    RouterRun run{.params = routing(6, 4, 2, true, 1.0f), .bias = &bias, .model = model};
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(Each, RouterPolicies, ::testing::ValuesIn(kPolicies),
                         [](const auto& test) { return test.param.name; });

TEST_P(RouterPolicies, IsFollowedInEachModelDtype) {
  for (const md_dtype model : {MD_F32, MD_BF16, MD_F16}) {
    for (const md_dtype logits_dtype : {MD_F32, model}) {
      RouterRun run = run_in(model);
      run.logits_dtype = logits_dtype;
      GetParam().set(run.params);
      const Array logits = rounded(normals({kTokens, kExperts}, 11), model);
      ASSERT_NO_FATAL_FAILURE(expect_routing(route(device, logits, run), logits, run)) << "model dtype " << model;
    }
  }
}

TEST_P(RouterPolicies, IsFollowedWithoutABiasAndWithoutGroups) {
  RouterRun run{.params = routing(6, 1, 1, true, 1.0f), .model = MD_BF16};
  GetParam().set(run.params);
  const Array logits = rounded(normals({kTokens, kExperts}, 11), MD_BF16);
  expect_routing(route(device, logits, run), logits, run);
}

TEST_P(RouterPolicies, MakesADifference) {
  for (const md_dtype model : {MD_F32, MD_BF16}) {
    if (GetParam().only_narrow && model == MD_F32) continue;
    RouterRun run = run_in(model);
    const Array logits = rounded(normals({kTokens, kExperts}, 11), model);
    const Routed plain = route(device, logits, run);
    GetParam().set(run.params);
    const Routed changed = route(device, logits, run);
    EXPECT_TRUE(plain.ids.values != changed.ids.values || plain.weights.values != changed.weights.values);
  }
}

TEST(RouterPolicy, MaskZeroPrefersExpertsThatAreOutToNegativeChoices) {
  Device device;
  const Array bias{{4}, {-1, 1, -2, -2}};  // all scores are 1/2: choices -0.5 and 1.5, then -1.5 twice
  RouterRun run{.params = routing(2, 2, 1, false, 1.0f), .bias = &bias};
  EXPECT_THAT(route(device, constant({1, 4}, 0), run).ids.values, ElementsAre(1, 0));
  run.params.mask = MD_MASK_ZERO;
  EXPECT_THAT(route(device, constant({1, 4}, 0), run).ids.values, ElementsAre(1, 2));
}

TEST(RouterPolicy, EqualMaximaOfAGroupBothCount) {
  Device device;
  const Array bias{{4}, {1, 1, 1.75, 0}};  // sums 2 and 1.75, maxima 1 and 1.75
  RouterRun run{.params = routing(1, 2, 1, false, 1.0f), .bias = &bias};
  EXPECT_THAT(route(device, constant({1, 4}, 0), run).ids.values, ElementsAre(0));
}

TEST(RouterPolicy, SmallScoresDoNotUnderflowBeforeTheyMust) {
  Device device;
  RouterRun run{.params = routing(2, 1, 1, true, 1.0f)};
  const Array logits{{1, 4}, {-95, -95, -200, -200}};
  EXPECT_THAT(route(device, logits, run).weights.values, ElementsAre(0.5, 0.5));
  run.params.norm_epsilon = 1e-20f;
  EXPECT_THAT(route(device, logits, run).weights.values,
              Each(::testing::AllOf(::testing::Gt(0), ::testing::Lt(1e-20))));
  run.params.norm_topk_prob = 0;
  EXPECT_NEAR(route(device, logits, run).weights.values[0], std::exp(-95.0), 0x1p-149);
}

TEST(RouterPolicy, SoftmaxOfHugeLogitsDoesNotOverflowAndIsInvariantToAShift) {
  Device device;
  RouterRun run{.params = routing(3, 1, 1, false, 1.0f)};
  run.params.scoring = MD_SCORING_SOFTMAX;
  const Routed low = route(device, {{1, 4}, {1, 3, 2, 0}}, run);
  const Routed high = route(device, {{1, 4}, {30001, 30003, 30002, 30000}}, run);
  EXPECT_THAT(low.ids.values, ElementsAre(1, 2, 0));
  EXPECT_EQ(low.ids.values, high.ids.values);
  EXPECT_EQ(low.weights.values, high.weights.values);
  EXPECT_NEAR(low.weights.values[0], 1 / (1 + std::exp(-1.0) + std::exp(-2.0) + std::exp(-3.0)), 1e-7);
}

TEST(RouterPolicy, ALlama4TokenGoesToItsLargestLogitWithItsSigmoid) {
  Device device;
  const Routed actual = route(device, {{2, 3}, {-4, -2, -3, 5, 5, 1}}, {.params = routing(1, 1, 1, false, 1.0f)});
  EXPECT_THAT(actual.ids.values, ElementsAre(1, 0));
  EXPECT_NEAR(actual.weights.values[0], 1 / (1 + std::exp(2.0)), 1e-8);
}

}  // namespace
}  // namespace moediff::test
