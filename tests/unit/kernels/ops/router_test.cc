// The router: logits exact on integers, selection against the definition, ties, groups, columns of a wider buffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/kernels/ops/naive.h"
#include "tests/unit/kernels/ops/naive_router.h"

namespace moediff::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(Router, LogitsAreExactOnIntegersForHardSizes) {
  Device device;
  for (const std::int64_t hidden : kHardSizes) {
    const std::int64_t tokens = 129 / hidden, experts = 6;
    const Array x = integers({tokens, hidden}, 1), gate = integers({experts, hidden}, 2);
    for (const md_dtype dtype : {MD_F32, MD_BF16, MD_F16}) {
      const md_tensor logits = device.blank({tokens, experts}, MD_F32);
      device.run(MD_OP_ROUTER,
                 {device.upload(x, dtype), device.upload(gate, dtype), absent(), logits,
                  device.blank({tokens, 2}, MD_I32), device.blank({tokens, 2}, MD_F32)},
                 routing(2, 1, 1, true, 1.0f));
      ASSERT_THAT(device.read(logits).values, ElementsAreArray(naive_gemm(x, gate, nullptr, 1, nullptr).values))
          << "H=" << hidden << " dtype " << dtype;
    }
  }
}

TEST(Router, LogitsInTheModelDtypeAreRoundedAndTheSelectionFollowsThem) {
  Device device;
  const std::int64_t tokens = 33, hidden = 64, experts = 12;
  const Array x = integers({tokens, hidden}, 3, 9);
  Array gate = integers({experts, hidden}, 4, 9);
  for (double& w : gate.values) w *= 0x1p-8;
  const Array exact = naive_gemm(x, gate, nullptr, 1, nullptr);
  const RouterRun run{.params = routing(4, 1, 1, false, 0x1p-3f), .model = MD_BF16};
  const md_tensor logits = device.blank({tokens, experts}, MD_BF16), ids = device.blank({tokens, 4}, MD_I32),
                  weights = device.blank({tokens, 4}, MD_F32);
  device.run(MD_OP_ROUTER, {device.upload(x, MD_BF16), device.upload(gate, MD_BF16), absent(), logits, ids, weights},
             run.params);
  const Routed actual{device.read(logits), device.read(ids), device.read(weights)};
  EXPECT_THAT(actual.logits.values, ElementsAreArray(rounded(exact, MD_BF16).values));
  EXPECT_NE(actual.logits.values, exact.values) << "the data must be able to tell";
  expect_routing(actual, actual.logits, run);
}

TEST(Router, SelectsAsDefinedForManyShapesOfGroups) {
  Device device;
  for (const md_params& params :
       {routing(1, 1, 1, false, 1.0f), routing(8, 8, 4, true, 2.5f), routing(3, 4, 1, true, 1),
        routing(5, 2, 2, false, 0.5f), routing(16, 16, 16, true, 1.0f)}) {
    for (const std::int64_t group_size : {4, 9}) {
      const std::int64_t experts = group_size * params.n_group;
      if (params.top_k > experts) continue;
      const Array logits = rounded(normals({33, experts}, 3), MD_F32), bias = rounded(normals({experts}, 4), MD_F32);
      const RouterRun run{.params = params, .bias = &bias};
      ASSERT_NO_FATAL_FAILURE(expect_routing(route(device, logits, run), logits, run))
          << "k=" << params.top_k << " E=" << experts;
    }
  }
}

/// Kimi-K2's number of experts, one thread's worth and one less, and the most that must work.
TEST(Router, SelectsAsDefinedForManyExperts) {
  Device device;
  for (const std::int64_t experts : {63, 64, 65, 384, 4096}) {
    for (const int scoring : {MD_SCORING_SIGMOID, MD_SCORING_SOFTMAX}) {
      const std::int64_t tokens = experts == 4096 ? 1 : 5;
      Array bias = rounded(normals({experts}, 6), MD_F32);
      RouterRun run{.params = routing(8, 1, 1, true, 2.827f), .bias = &bias};
      run.params.scoring = scoring;
      // One hidden column: a unit matrix for 4096 experts would be most of the test.
      const Array x = rounded(normals({tokens, 1}, 5), MD_F32), gate = rounded(normals({experts, 1}, 7), MD_F32);
      const md_tensor logits = device.blank({tokens, experts}, MD_F32), ids = device.blank({tokens, 8}, MD_I32),
                      weights = device.blank({tokens, 8}, MD_F32);
      device.run(
          MD_OP_ROUTER,
          {device.upload(x, MD_F32), device.upload(gate, MD_F32), device.upload(bias, MD_F32), logits, ids, weights},
          run.params);
      const Routed actual{device.read(logits), device.read(ids), device.read(weights)};
      ASSERT_NO_FATAL_FAILURE(expect_routing(actual, actual.logits, run)) << "E=" << experts << " " << scoring;
    }
  }
}

TEST(Router, OneExpertAGroupIsItsOwnGroupScore) {
  Device device;
  const Array logits = rounded(normals({7, 5}, 5), MD_F32);
  const RouterRun run{.params = routing(2, 5, 3, true, 1.0f)};
  expect_routing(route(device, logits, run), logits, run);
}

TEST(Router, EqualChoicesGoToTheLowerIndexAndEqualGroupsToTheLowerGroup) {
  Device device;
  const RouterRun run{.params = routing(3, 4, 2, true, 1.0f)};
  EXPECT_THAT(route(device, constant({2, 8}, 0.25), run).ids.values, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Router, ABiasMovesTheChoiceButNotTheWeight) {
  Device device;
  const Array bias{{3}, {10, 0, 0}};
  const Routed actual = route(device, {{1, 3}, {0, 2, 1}}, {.params = routing(1, 1, 1, false, 1.0f), .bias = &bias});
  EXPECT_THAT(actual.ids.values, ElementsAre(0));
  EXPECT_EQ(actual.weights.values[0], 0.5);  // sigmoid(0)
}

TEST(Router, AGroupOutsideTheBestIsMaskedEvenWhenItHoldsTheBestExpert) {
  Device device;
  const Array bias{{4}, {3, -3, 1, 1}};  // groups {0,1} and {2,3}: sums 0 and 2 plus two scores each
  RouterRun run{.params = routing(2, 2, 1, true, 1.0f), .bias = &bias};
  EXPECT_THAT(route(device, constant({1, 4}, 0), run).ids.values, ElementsAre(2, 3));
  run.params.group_score = MD_GROUP_MAX;
  EXPECT_THAT(route(device, constant({1, 4}, 0), run).ids.values, ElementsAre(0, 1));
}

/// One score of 1/2, eight of 2^-26: added one by one to the half they are lost, added before it they are not.
TEST(Router, WeightsAreSummedInDescendingOrderOfChoice) {
  Device device;
  Array logits = constant({1, 9}, -26 * std::log(2.0)), bias = constant({9}, 0);
  logits.values[4] = 0;
  RouterRun run{.params = routing(9, 1, 1, true, 1.0f), .bias = &bias};
  EXPECT_EQ(route(device, logits, run).weights.values[0], 1) << "the half comes first";
  bias.values[4] = -10;
  EXPECT_NEAR(route(device, logits, run).weights.values[8], 1 - 0x1p-22, 0x1p-24) << "the half comes last";
}

TEST(Router, WritesOnlyItsColumnsOfAWiderBuffer) {
  Device device;
  const std::int64_t tokens = 5, experts = 6;
  const RouterRun run{.params = routing(2, 1, 1, true, 1.0f)};
  const Array x = rounded(normals({tokens, experts}, 6), MD_F32),
              gate = rounded(normals({experts, experts}, 7), MD_F32);
  md_tensor ids = device.upload(constant({tokens, 4}, 77), MD_I32),
            weights = device.upload(constant({tokens, 4}, 7), MD_F32);
  const md_tensor whole_ids = ids, whole_weights = weights, logits = device.blank({tokens, experts}, MD_F32);
  ids.shape[1] = weights.shape[1] = 2;
  device.run(MD_OP_ROUTER, {device.upload(x, MD_F32), device.upload(gate, MD_F32), absent(), logits, ids, weights},
             run.params);
  const Routed actual{device.read(logits), device.read(ids), device.read(weights)};
  expect_routing(actual, actual.logits, run);
  for (std::size_t t = 0; t < 5; ++t) {
    EXPECT_EQ(device.read(whole_ids).values[t * 4 + 2], 77);
    EXPECT_EQ(device.read(whole_weights).values[t * 4 + 3], 7);
  }
}

TEST(Router, NoTokensIsNoWork) {
  Device device;
  EXPECT_TRUE(route(device, constant({0, 4}, 0), {.params = routing(2, 1, 1, true, 1.0f)}).ids.values.empty());
}

}  // namespace
}  // namespace moediff::test
