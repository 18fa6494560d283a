// The router: logits exact on integers, selection against the definition, ties, groups, strides, nonsense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

struct Routed {
  Array logits, ids, weights;
};

/// With H = E and the unit matrix as gate, hidden states are the logits.
Routed route(Device& device, const Array& logits, const Array& bias, const md_params& params, std::int64_t pad = 0) {
  const std::int64_t tokens = logits.shape[0], experts = logits.shape[1];
  Array gate = constant({experts, experts}, 0);
  for (std::int64_t e = 0; e < experts; ++e) gate.values[e * experts + e] = 1;
  const md_tensor out = device.blank({tokens, experts}, MD_F32);
  const md_tensor ids = device.blank({tokens, params.top_k}, MD_I32, pad),
                  weights = device.blank({tokens, params.top_k}, MD_F32, pad);
  device.run(
      MD_OP_ROUTER,
      {device.upload(logits, MD_F32), device.upload(gate, MD_F32), device.upload(bias, MD_F32), out, ids, weights},
      params);
  return {device.read(out), device.read(ids), device.read(weights)};
}

void expect_close(const Array& actual, const Array& expected) {
  ASSERT_EQ(actual.values.size(), expected.values.size());
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_NEAR(actual.values[i], expected.values[i], 1e-6 * std::abs(expected.values[i])) << "at " << i;
  }
}

TEST(Router, LogitsAreExactOnIntegersForHardSizes) {
  Device device;
  for (const std::int64_t hidden : kHardSizes) {
    const std::int64_t tokens = 129 / hidden, experts = 6;
    const Array x = integers({tokens, hidden}, 1), gate = integers({experts, hidden}, 2);
    const md_tensor logits = device.blank({tokens, experts}, MD_F32);
    device.run(MD_OP_ROUTER,
               {device.upload(x, MD_BF16), device.upload(gate, MD_BF16), device.upload(constant({experts}, 0), MD_F32),
                logits, device.blank({tokens, 2}, MD_I32), device.blank({tokens, 2}, MD_F32)},
               {2, 1, 1, 1, 1, 1.0f});
    ASSERT_THAT(device.read(logits).values, ElementsAreArray(naive_gemm(x, gate, nullptr, 1, nullptr).values))
        << "H=" << hidden;
  }
}

TEST(Router, SelectsAsDefinedForManyShapesOfGroups) {
  Device device;
  for (const md_params& params :
       {md_params{1, 1, 1, 0, 1, 1.0f}, md_params{8, 8, 4, 1, 1, 2.5f}, md_params{3, 4, 1, 1, 1, 1.0f},
        md_params{5, 2, 2, 0, 1, 0.5f}, md_params{16, 16, 16, 1, 1, 1.0f}}) {
    for (const std::int64_t group_size : {4, 9}) {
      const std::int64_t experts = group_size * params.n_group;
      if (params.top_k > experts) continue;
      const Array logits = rounded(normals({33, experts}, 3), MD_F32), bias = rounded(normals({experts}, 4), MD_F32);
      const Routed actual = route(device, logits, bias, params);
      const NaiveRouting expected = naive_route(logits, bias, params);
      ASSERT_THAT(actual.ids.values, ElementsAreArray(expected.ids.values)) << "k=" << params.top_k << " E=" << experts;
      expect_close(actual.weights, expected.weights);
    }
  }
}

TEST(Router, OneExpertAGroupIsItsOwnGroupScore) {
  Device device;
  const md_params params{2, 5, 3, 1, 1, 1.0f};
  const Array logits = rounded(normals({7, 5}, 5), MD_F32), bias = constant({5}, 0);
  EXPECT_THAT(route(device, logits, bias, params).ids.values,
              ElementsAreArray(naive_route(logits, bias, params).ids.values));
}

TEST(Router, EqualChoicesGoToTheLowerIndexAndEqualGroupsToTheLowerGroup) {
  Device device;
  const Routed actual = route(device, constant({2, 8}, 0.25), constant({8}, 0), {3, 4, 2, 1, 1, 1.0f});
  EXPECT_THAT(actual.ids.values, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Router, ABiasMovesTheChoiceButNotTheWeight) {
  Device device;
  const Array logits{{1, 3}, {0, 2, 1}};
  const Routed actual = route(device, logits, {{3}, {10, 0, 0}}, {1, 1, 1, 0, 1, 1.0f});
  EXPECT_THAT(actual.ids.values, ElementsAre(0));
  EXPECT_EQ(actual.weights.values[0], 0.5);  // sigmoid(0)
}

TEST(Router, AGroupOutsideTheBestIsMaskedEvenWhenItHoldsTheBestExpert) {
  Device device;
  const Array bias{{4}, {3, -3, 1, 1}};  // groups {0,1} and {2,3}: sums 0 and 2 plus two scores each
  EXPECT_THAT(route(device, constant({1, 4}, 0), bias, {2, 2, 1, 1, 1, 1.0f}).ids.values, ElementsAre(2, 3));
}

TEST(Router, WritesOnlyItsColumnsOfAWiderBuffer) {
  Device device;
  const std::int64_t tokens = 5, experts = 6;
  const md_params params{2, 1, 1, 1, 1, 1.0f};
  const Array logits = rounded(normals({tokens, experts}, 6), MD_F32), bias = constant({experts}, 0);
  md_tensor ids = device.upload(constant({tokens, 4}, 77), MD_I32),
            weights = device.upload(constant({tokens, 4}, 7), MD_F32);
  const md_tensor whole_ids = ids, whole_weights = weights;
  ids.shape[1] = weights.shape[1] = 2;
  Array gate = constant({experts, experts}, 0);
  for (std::int64_t e = 0; e < experts; ++e) gate.values[e * experts + e] = 1;
  device.run(MD_OP_ROUTER,
             {device.upload(logits, MD_F32), device.upload(gate, MD_F32), device.upload(bias, MD_F32),
              device.blank({tokens, experts}, MD_F32), ids, weights},
             params);
  const NaiveRouting expected = naive_route(logits, bias, params);
  EXPECT_THAT(device.read(ids).values, ElementsAreArray(expected.ids.values));
  for (std::int64_t t = 0; t < tokens; ++t) {
    EXPECT_EQ(device.read(whole_ids).values[t * 4 + 2], 77);
    EXPECT_EQ(device.read(whole_weights).values[t * 4 + 3], 7);
  }
}

TEST(Router, IdsAreDistinctAndInRangeForNanAndInfiniteLogits) {
  Device device;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  // NaN reaches the logits of its token through every product with the unit gate.
  const Array x{{4, 6}, {nan, 1, 2, 3, 4, 5, inf, 1, 1, 1, 1, 1, -inf, 0, 0, 0, 0, 0, nan, nan, nan, nan, nan, nan}};
  const Routed actual = route(device, x, constant({6}, 0), {4, 3, 2, 1, 1, 1.0f});
  for (std::int64_t t = 0; t < 4; ++t) {
    const std::set<double> ids(actual.ids.values.begin() + t * 4, actual.ids.values.begin() + (t + 1) * 4);
    EXPECT_EQ(ids.size(), 4u) << "token " << t;
    EXPECT_GE(*ids.begin(), 0);
    EXPECT_LT(*ids.rbegin(), 6);
  }
}

TEST(Router, NoTokensIsNoWork) {
  Device device;
  EXPECT_TRUE(route(device, constant({0, 4}, 0), constant({4}, 0), {2, 1, 1, 1, 1, 1.0f}).ids.values.empty());
}

}  // namespace
}  // namespace moediff::test
