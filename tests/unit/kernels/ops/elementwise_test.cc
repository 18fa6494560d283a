// activation, combine, scale_add, residual_add: values, roundings in the right places, strides, in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

/// Whether fp32 arithmetic a few units off may round x to the other neighbour.
bool near_tie(double x, md_dtype dtype) {
  const double slack = std::abs(x) * 0x1p-20;
  return rounded(x - slack, dtype) != rounded(x + slack, dtype);
}

TEST(Activation, RoundsSiluAndThenTheProduct) {
  Device device;
  std::int64_t checked = 0;
  for (const std::int64_t inter : kHardSizes) {
    const Array in = rounded(normals({17, 2 * inter}, 1), MD_BF16);
    const md_tensor out = device.blank({17, inter}, MD_BF16);
    device.run(MD_OP_ACTIVATION, {device.upload(in, MD_BF16), out});
    const Array expected = naive_activation(in, MD_BF16), actual = device.read(out);
    for (std::int64_t i = 0; i < 17 * inter; ++i) {
      const double gate = in.values[i / inter * 2 * inter + i % inter];
      if (near_tie(gate / (1 + std::exp(-gate)), MD_BF16)) continue;
      ASSERT_EQ(actual.values[i], expected.values[i]) << "inter=" << inter << " element " << i;
      ++checked;
    }
  }
  EXPECT_GT(checked, 7000);
}

TEST(Activation, IsCloseInFp32AndTheSameForTheSharedExperts) {
  Device device;
  const Array in = rounded(normals({33, 130}, 2), MD_F32);
  const Array expected = naive_activation(in, MD_F32);
  for (const md_op op : {MD_OP_ACTIVATION, MD_OP_SHARED_ACTIVATION}) {
    const md_tensor out = device.blank({33, 65}, MD_F32, 1);
    device.run(op, {device.upload(in, MD_F32, 3), out});
    const Array actual = device.read(out);
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      ASSERT_NEAR(actual.values[i], expected.values[i], 1e-6 * std::abs(expected.values[i]));
    }
  }
}

TEST(Activation, OfExtremeGatesIsFinite) {
  Device device;
  const md_tensor out = device.blank({1, 3}, MD_F32);
  device.run(MD_OP_ACTIVATION, {device.upload({{1, 6}, {-1e30, 0, 100, 1, 1, 1}}, MD_F32), out});
  EXPECT_THAT(device.read(out).values, ::testing::ElementsAre(0, 0, 100));
}

/// Weights are powers of two, so that the sum is exact.
Array power_weights(std::int64_t tokens, std::int64_t width) {
  Array weights = integers({tokens, width}, 3, 2);
  for (double& w : weights.values) w = std::ldexp(1.0, static_cast<int>(w));
  return weights;
}

Array backwards(std::int64_t count) {
  Array rows{{count}, {}};
  for (std::int64_t i = count; i-- > 0;) rows.values.push_back(static_cast<double>(i));
  return rows;
}

TEST(Combine, IsExactOnIntegersForHardSizes) {
  Device device;
  for (const std::int64_t hidden : kHardSizes) {
    for (const std::int64_t width : {1, 2, 8}) {
      const std::int64_t tokens = 65 / width;
      const Array in = integers({tokens * width, hidden}, 4), weights = power_weights(tokens, width),
                  rows = backwards(tokens * width);
      const md_tensor out = device.blank({tokens, hidden}, MD_BF16, 2);
      device.run(MD_OP_COMBINE,
                 {device.upload(in, MD_BF16, 1), device.upload(rows, MD_I32), device.upload(weights, MD_F32, 2), out});
      ASSERT_THAT(device.read(out).values, ElementsAreArray(rounded(naive_combine(in, rows, weights), MD_BF16).values))
          << "H=" << hidden << " W=" << width;
    }
  }
}

TEST(Combine, AddsTheSlotsInAscendingOrderInFp32) {
  Device device;
  const Array in{{3, 1}, {0x1p24, 1, -0x1p24}}, rows{{3}, {0, 1, 2}};  // (2^24 + 1) - 2^24 loses the 1
  const md_tensor out = device.blank({1, 1}, MD_F32);
  device.run(MD_OP_COMBINE,
             {device.upload(in, MD_F32), device.upload(rows, MD_I32), device.upload(constant({1, 3}, 1), MD_F32), out});
  EXPECT_EQ(device.read(out).values[0], 0);
}

TEST(Combine, ASlotWithoutARowAddsNothing) {
  Device device;
  const md_tensor out = device.blank({1, 2}, MD_F32);
  device.run(MD_OP_COMBINE, {device.upload(constant({3, 2}, 4), MD_F32), device.upload({{3}, {-1, 1, 99}}, MD_I32),
                             device.upload(constant({1, 3}, 0.5), MD_F32), out});
  EXPECT_THAT(device.read(out).values, Each(2));
}

TEST(ScaleAdd, RoundsTheScaledValueBeforeAddingTheShared) {
  Device device;
  const Array routed = rounded(normals({31, 129}, 5), MD_BF16), shared = rounded(normals({31, 129}, 6), MD_BF16);
  const md_tensor out = device.blank({31, 129}, MD_BF16, 3);
  device.run(MD_OP_SCALE_ADD, {device.upload(routed, MD_BF16, 1), device.upload(shared, MD_BF16, 2), out},
             {1, 1, 1, 0, 1, 2.5f});
  const Array actual = device.read(out);
  int twice_differs = 0;
  for (std::size_t i = 0; i < routed.values.size(); ++i) {
    const double expected = rounded(rounded(2.5 * routed.values[i], MD_BF16) + shared.values[i], MD_BF16);
    ASSERT_EQ(actual.values[i], expected);
    twice_differs += expected != rounded(2.5 * routed.values[i] + shared.values[i], MD_BF16) ? 1 : 0;
  }
  EXPECT_GT(twice_differs, 100) << "the data must be able to tell one rounding from two";
}

TEST(ScaleAdd, WithoutSharedExpertsOnlyScales) {
  Device device;
  const md_tensor out = device.blank({2, 3}, MD_BF16);
  device.run(MD_OP_SCALE_ADD, {device.upload(constant({2, 3}, 3), MD_BF16), absent(), out}, {1, 1, 1, 0, 1, 0.5f});
  EXPECT_THAT(device.read(out).values, Each(1.5));
}

TEST(ScaleAdd, RunsInPlaceOnEitherInput) {
  Device device;
  for (const int place : {0, 1}) {
    const md_tensor inputs[] = {device.upload(integers({33, 65}, 7), MD_BF16),
                                device.upload(integers({33, 65}, 8), MD_BF16)};
    const Array a = device.read(inputs[0]), b = device.read(inputs[1]);
    device.run(MD_OP_SCALE_ADD, {inputs[0], inputs[1], inputs[place]});
    const Array actual = device.read(inputs[place]);
    for (std::size_t i = 0; i < a.values.size(); ++i) ASSERT_EQ(actual.values[i], a.values[i] + b.values[i]);
  }
}

TEST(ResidualAdd, AddsAndRoundsForHardSizes) {
  Device device;
  for (const std::int64_t hidden : kHardSizes) {
    const Array moe = rounded(normals({5, hidden}, 9), MD_BF16), x = rounded(normals({5, hidden}, 10), MD_BF16);
    const md_tensor out = device.blank({5, hidden}, MD_BF16);
    device.run(MD_OP_RESIDUAL_ADD, {device.upload(moe, MD_BF16, 2), device.upload(x, MD_BF16), out});
    const Array actual = device.read(out);
    for (std::size_t i = 0; i < moe.values.size(); ++i) {
      ASSERT_EQ(actual.values[i], rounded(moe.values[i] + x.values[i], MD_BF16)) << "H=" << hidden;
    }
  }
}

/// The upper half of a float, as scale_add makes it: the factor times one is the factor.
std::uint32_t bf16_of(Device& device, std::uint32_t bits) {
  const md_tensor out = device.blank({1, 1}, MD_BF16);
  const md_params params{1, 1, 1, 0, 1, std::bit_cast<float>(bits)};
  device.run(MD_OP_SCALE_ADD, {device.upload(constant({1, 1}, 1), MD_BF16), absent(), out}, params);
  const std::vector<std::uint8_t> memory = device.bytes(out);
  return memory[0] | static_cast<std::uint32_t>(memory[1]) << 8;
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  Device device;
  EXPECT_EQ(bf16_of(device, 0x3f808000), 0x3f80u);
  EXPECT_EQ(bf16_of(device, 0x3f808001), 0x3f81u);
  EXPECT_EQ(bf16_of(device, 0x3f818000), 0x3f82u);
  EXPECT_EQ(bf16_of(device, 0x3f817fff), 0x3f81u);
  EXPECT_EQ(bf16_of(device, 0x80018000), 0x8002u);
  EXPECT_EQ(bf16_of(device, 0x00008000), 0x0000u);
}

TEST(Bf16, OverflowsToInfinityAndKeepsInfinityNanAndTheSignOfZero) {
  Device device;
  EXPECT_EQ(bf16_of(device, 0x7f7fffff), 0x7f80u);
  EXPECT_EQ(bf16_of(device, 0xff800000), 0xff80u);
  EXPECT_EQ(bf16_of(device, 0x80000000), 0x8000u);
  EXPECT_GT(bf16_of(device, 0x7fffffff) & 0x7fffu, 0x7f80u);
  EXPECT_GT(bf16_of(device, 0xffc00001) & 0x7fffu, 0x7f80u);
}

TEST(Elementwise, NoRowsIsNoWork) {
  Device device;
  const md_tensor wide = device.blank({0, 8}, MD_BF16), narrow = device.blank({0, 4}, MD_BF16);
  device.run(MD_OP_ACTIVATION, {wide, narrow});
  device.run(MD_OP_SCALE_ADD, {wide, wide, wide});
  device.run(MD_OP_RESIDUAL_ADD, {wide, wide, wide});
  device.run(MD_OP_COMBINE, {wide, device.blank({0}, MD_I32), device.blank({0, 2}, MD_F32), wide});
}

}  // namespace
}  // namespace moediff::test
