// Rows with NaN and infinities: whatever the policy, ids are distinct and in range, and the other tokens are not
// touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/unit/kernels/ops/naive.h"
#include "tests/unit/kernels/ops/naive_router.h"

namespace moediff::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr int kExperts = 8;

/// Tokens whose logits are given: one call each, with one hidden column of 1 and the logits as gate, so that NaN and
/// infinities stay where they are put.
class Tokens {
 public:
  Tokens(Device& device, const Array& logits, const Array* bias)
      : device_(device),
        x_(device.upload(constant({1, 1}, 1), MD_F32)),
        gates_(device.upload({{logits.shape[0] * kExperts, 1}, logits.values}, MD_F32)),
        bias_(bias == nullptr ? absent() : device.upload(*bias, MD_F32)),
        logits_(device.blank({1, kExperts}, MD_F32)),
        ids_(device.blank({logits.shape[0], kExperts}, MD_I32)),
        weights_(device.blank({logits.shape[0], kExperts}, MD_F32)) {}

  Routed route(const md_params& params) {
    const std::int64_t tokens = ids_.shape[0];
    for (std::int64_t t = 0; t < tokens; ++t) {
      device_.run(MD_OP_ROUTER,
                  {x_, rows_of(gates_, t * kExperts, kExperts), bias_, logits_, columns(ids_, t, params.top_k),
                   columns(weights_, t, params.top_k)},
                  params);
    }
    Routed all{{}, {{tokens, params.top_k}, {}}, {{tokens, params.top_k}, {}}};
    const Array ids = device_.read(ids_), weights = device_.read(weights_);
    for (std::int64_t i = 0; i < tokens * kExperts; ++i) {
      if (i % kExperts >= params.top_k) continue;
      all.ids.values.push_back(ids.values[static_cast<std::size_t>(i)]);
      all.weights.values.push_back(weights.values[static_cast<std::size_t>(i)]);
    }
    return all;
  }

 private:
  static md_tensor columns(const md_tensor& tensor, std::int64_t row, std::int64_t count) {
    md_tensor part = rows_of(tensor, row, 1);
    part.shape[1] = count;
    return part;
  }

  Device& device_;
  md_tensor x_, gates_, bias_, logits_, ids_, weights_;
};

const Array kRows{{8, kExperts}, {kNan,  1,     2,     3,     4,     5,     6,     7,      //
                                  kInf,  1,     1,     1,     1,     1,     1,     1,      //
                                  -kInf, 0,     0,     0,     0,     0,     0,     0,      //
                                  kNan,  kNan,  kNan,  kNan,  kNan,  kNan,  kNan,  kNan,   //
                                  kInf,  kInf,  kInf,  kInf,  kInf,  kInf,  kInf,  kInf,   //
                                  -kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf,  //
                                  kNan,  kInf,  -kInf, 0,     kNan,  kInf,  -kInf, 0,      //
                                  1,     2,     3,     4,     kNan,  kNan,  kNan,  kNan}};

TEST(RouterNotFinite, IdsAreDistinctAndInRangeWhateverThePolicy) {
  Device device;
  const Array plain = constant({kExperts}, -1), broken{{kExperts}, {kInf, -kInf, kNan, 0, 0, kInf, kNan, -kInf}};
  Tokens without_bias(device, kRows, nullptr), shifted(device, kRows, &plain), with_broken_bias(device, kRows, &broken);
  for (int combination = 0; combination < 96; ++combination) {
    md_params params = routing(4, 4, 2, true, 2.5f);
    params.scoring = combination & 1;
    params.mask = combination >> 1 & 1;
    params.group_score = combination >> 2 & 1;
    params.not_finite = combination >> 3 & 1;
    if ((combination & 16) != 0) params.n_group = params.topk_group = 1;
    Tokens& tokens = combination < 32 ? without_bias : combination < 64 ? shifted : with_broken_bias;
    const Routed actual = tokens.route(params);
    for (std::int64_t t = 0; t < kRows.shape[0]; ++t) {
      const auto row = actual.ids.values.begin() + t * 4;
      const std::set<double> ids(row, row + 4);
      ASSERT_EQ(ids.size(), 4u) << "combination " << combination << " token " << t;
      ASSERT_TRUE(*ids.begin() >= 0 && *ids.rbegin() < kExperts) << "combination " << combination << " token " << t;
    }
  }
}

TEST(RouterNotFinite, IdsAreThoseOfTheDefinition) {
  Device device;
  Tokens tokens(device, kRows, nullptr);
  for (const int not_finite : {MD_NOT_FINITE_LOWEST, MD_NOT_FINITE_UNIFORM}) {
    for (const int mask : {MD_MASK_NEG_INF, MD_MASK_ZERO}) {
      md_params params = routing(5, 2, 2, false, 1.0f);
      params.not_finite = not_finite;
      params.mask = mask;
      EXPECT_THAT(tokens.route(params).ids.values,
                  ElementsAreArray(naive_route(kRows, nullptr, params, MD_F32).ids.values));
    }
  }
}

TEST(RouterNotFinite, ANanCountsAsTheLowestChoice) {
  Device device;
  const Routed actual = Tokens(device, kRows, nullptr).route(routing(4, 1, 1, false, 1.0f));
  const std::vector<double> first(actual.ids.values.begin(), actual.ids.values.begin() + 4);
  EXPECT_THAT(first, ElementsAre(7, 6, 5, 4));
  const std::vector<double> all_nan(actual.ids.values.begin() + 12, actual.ids.values.begin() + 16);
  EXPECT_THAT(all_nan, ElementsAre(0, 1, 2, 3));
}

TEST(RouterNotFinite, WithTooFewFiniteChoicesUniformTakesTheFirstIdsWithEqualWeights) {
  Device device;
  const Array row{{1, kExperts}, {kNan, kNan, kNan, 1, kNan, 2, kNan, 3}};
  md_params params = routing(4, 1, 1, true, 2.5f);
  params.not_finite = MD_NOT_FINITE_UNIFORM;
  Routed actual = Tokens(device, row, nullptr).route(params);
  EXPECT_THAT(actual.ids.values, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(actual.weights.values, Each(0.25));
  params = routing(3, 1, 1, true, 2.5f);
  params.not_finite = MD_NOT_FINITE_UNIFORM;
  EXPECT_THAT(Tokens(device, row, nullptr).route(params).ids.values, ElementsAre(7, 5, 3))
      << "three are enough for three";
}

TEST(RouterNotFinite, UniformCountsChoicesBeforeGroupsAreMasked) {
  Device device;
  const Array row{{1, kExperts}, {9, 9, 9, kNan, 1, 1, 1, 1}};
  md_params params = routing(4, 2, 1, false, 1.0f);
  params.not_finite = MD_NOT_FINITE_UNIFORM;
  EXPECT_THAT(Tokens(device, row, nullptr).route(params).ids.values, ElementsAre(0, 1, 2, 3));
  EXPECT_NE(Tokens(device, row, nullptr).route(params).weights.values[0], 0.25) << "seven choices are finite";
}

}  // namespace
}  // namespace moediff::test
