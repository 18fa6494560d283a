// The gated activations: each kind and both roundings against double, the accuracy that gated.h promises, clamps, and
// extreme gates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::ElementsAre;

md_params gating(int kind, int rounding = MD_ROUND_TWICE) {
  md_params params = scalars();
  params.activation = kind;
  params.activation_rounding = rounding;
  params.limit = 1.5f;
  return params;
}

/// Whether fp32 arithmetic that errs by `slack` may round x to the other neighbour.
bool near_tie(double x, double slack, md_dtype dtype) { return rounded(x - slack, dtype) != rounded(x + slack, dtype); }

class ActivationKinds : public ::testing::TestWithParam<int> {
 protected:
  Device device;
  static constexpr std::int64_t kRows = 17;

  /// Elements whose two roundings cannot differ by the kernel's error, and that are right.
  std::int64_t count_right(std::int64_t inter, int rounding, md_dtype dtype) {
    const md_params params = gating(GetParam(), rounding);
    const Array in = rounded(normals({kRows, 2 * inter}, 1), dtype);
    const md_tensor out = device.blank({kRows, inter}, dtype);
    device.run(MD_OP_ACTIVATION, {device.upload(in, dtype), out}, params);
    const Array expected = naive_activation(in, params, dtype), actual = device.read(out);
    std::int64_t right = 0;
    const bool twice = rounding == MD_ROUND_TWICE && GetParam() != MD_SWIGLUOAI;
    for (std::int64_t i = 0; i < kRows * inter; ++i) {
      const std::int64_t at = i / inter * 2 * inter + i % inter;
      const double gate = in.values[at], act = naive_act(GetParam(), params.limit, gate),
                   factor = naive_factor(GetParam(), params.limit, in.values[at + inter]);
      const double slack = 8 * 0x1p-24 * std::abs(gate), product = (twice ? rounded(act, dtype) : act) * factor;
      if (twice && near_tie(act, slack, dtype)) continue;
      if (near_tie(product, (twice ? 0 : slack * std::abs(factor)) + 0x1p-23 * std::abs(product), dtype)) continue;
      EXPECT_EQ(actual.values[i], expected.values[i]) << "inter=" << inter << " element " << i;
      ++right;
    }
    return right;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ActivationKinds,
                         ::testing::Values(MD_SILU, MD_GELU, MD_GELU_TANH, MD_SWIGLU_CLAMPED, MD_SWIGLUOAI));

TEST_P(ActivationKinds, RoundsTwiceOrOnceForHardSizesInNarrowFormats) {
  std::int64_t right = 0, all = 0;
  for (const md_dtype dtype : {MD_BF16, MD_F16}) {
    for (const int rounding : {MD_ROUND_TWICE, MD_ROUND_ONCE}) {
      for (const std::int64_t inter : kHardSizes) {
        right += count_right(inter, rounding, dtype);
        all += kRows * inter;
      }
    }
  }
  EXPECT_GT(static_cast<double>(right), 0.9 * static_cast<double>(all)) << "most must be decidable";
}

TEST_P(ActivationKinds, TheTwoRoundingsDifferButForGptOss) {
  const Array in = rounded(normals({kRows, 130}, 2), MD_BF16);
  std::vector<std::vector<double>> results;
  for (const int rounding : {MD_ROUND_TWICE, MD_ROUND_ONCE}) {
    const md_tensor out = device.blank({kRows, 65}, MD_BF16);
    device.run(MD_OP_ACTIVATION, {device.upload(in, MD_BF16), out}, gating(GetParam(), rounding));
    results.push_back(device.read(out).values);
  }
  EXPECT_EQ(results[0] == results[1], GetParam() == MD_SWIGLUOAI);
}

/// Gates over all magnitudes, each a random float below 2^7; up is 1 (for gpt-oss 0: its factor is up + 1).
TEST_P(ActivationKinds, ErrsInFp32ByNoMoreThanPromised) {
  const std::int64_t count = 40000;
  md_params params = gating(GetParam());
  params.limit = 100.0f;
  Array in{{2 * count, 2}, {}};
  const Array random = integers({count}, 3, 1 << 22);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.values[i] + (1 << 22)) * 133u + 0x01000000u;  // below 2^7
    for (const double sign : {1.0, -1.0}) {
      in.values.push_back(sign * std::bit_cast<float>(bits % 0x43000000u));
      in.values.push_back(GetParam() == MD_SWIGLUOAI ? 0 : 1);
    }
  }
  const md_tensor out = device.blank({2 * count, 1}, MD_F32);
  device.run(MD_OP_ACTIVATION, {device.upload(in, MD_F32), out}, params);
  const Array actual = device.read(out);
  const bool absolute = GetParam() == MD_GELU || GetParam() == MD_GELU_TANH;
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    const double gate = in.values[2 * i], exact = naive_act(GetParam(), params.limit, gate);
    const double bound = absolute ? 4 * 0x1p-24 * std::abs(gate) : 8 * 0x1p-24 * std::abs(exact);
    ASSERT_LE(std::abs(actual.values[i] - exact), bound + 0x1p-147) << "gate " << gate;
  }
}

TEST_P(ActivationKinds, OfExtremeGatesIsFiniteAndOfNanIsNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const md_tensor out = device.blank({1, 4}, MD_F32);
  device.run(MD_OP_ACTIVATION, {device.upload({{1, 8}, {-1e30, 0, 1e30, nan, 0.5, 0.5, 0.5, 0.5}}, MD_F32), out},
             gating(GetParam()));
  const std::vector<double> actual = device.read(out).values;
  EXPECT_EQ(actual[0], 0);
  EXPECT_EQ(actual[1], 0);
  EXPECT_TRUE(std::isfinite(actual[2]) && actual[2] > 0.5) << actual[2];
  EXPECT_TRUE(std::isnan(actual[3]));
}

TEST(Activation, OfTheSharedExpertsIsTheSame) {
  Device device;
  const Array in = rounded(normals({33, 130}, 2), MD_F32);
  std::vector<std::vector<double>> results;
  for (const md_op op : {MD_OP_ACTIVATION, MD_OP_SHARED_ACTIVATION}) {
    const md_tensor out = device.blank({33, 65}, MD_F32, 1);
    device.run(op, {device.upload(in, MD_F32, 3), out});
    results.push_back(device.read(out).values);
  }
  EXPECT_EQ(results[0], results[1]);
}

/// Published values: gelu(1), gelu(-1) = x Phi(x) and silu(1).
TEST(Activation, OfOneHasThePublishedValues) {
  Device device;
  const auto at = [&](int kind, double gate, double up) {
    const md_tensor out = device.blank({1, 1}, MD_F32);
    device.run(MD_OP_ACTIVATION, {device.upload({{1, 2}, {gate, up}}, MD_F32), out}, gating(kind));
    return device.read(out).values[0];
  };
  EXPECT_NEAR(at(MD_SILU, 1, 1), 0.7310585786300049, 1e-7);
  EXPECT_NEAR(at(MD_GELU, 1, 1), 0.8413447460685429, 1e-7);
  EXPECT_NEAR(at(MD_GELU, -1, 1), -0.15865525393145707, 1e-7);
  EXPECT_NEAR(at(MD_GELU_TANH, 1, 1), 0.8411919906082768, 1e-7);
  EXPECT_NEAR(at(MD_SWIGLUOAI, 1, 1), 2 * 0.8457957659328212, 3e-7);
}

/// limit = 1.5.
TEST(Activation, ClampsTheGateFromAboveAndUpOnBothSides) {
  Device device;
  const Array in{{1, 6}, {2, -2, 1, 1, 3, -3}};
  for (const int kind : {MD_SWIGLU_CLAMPED, MD_SWIGLUOAI}) {
    const md_tensor out = device.blank({1, 3}, MD_F32);
    device.run(MD_OP_ACTIVATION, {device.upload(in, MD_F32), out}, gating(kind));
    const double slope = kind == MD_SWIGLUOAI ? 1.702 : 1, plus = kind == MD_SWIGLUOAI ? 1 : 0;
    const auto swish = [&](double x) { return x / (1 + std::exp(-slope * x)); };
    const std::vector<double> actual = device.read(out).values;
    EXPECT_NEAR(actual[0], swish(1.5) * (1 + plus), 1e-6);
    EXPECT_NEAR(actual[1], swish(-2) * (1.5 + plus), 1e-6);
    EXPECT_NEAR(actual[2], swish(1) * (-1.5 + plus), 1e-6);
  }
}

}  // namespace
}  // namespace moediff::test
