// scale_add, residual_add, weigh_input: values, roundings in the right places, strides, in place; and the conversion to
// bf16 through them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::Each;

md_params scaled_by(float factor) {
  md_params params = scalars();
  params.factor = factor;
  return params;
}

TEST(ScaleAdd, RoundsTheScaledValueBeforeAddingTheShared) {
  Device device;
  const Array routed = rounded(normals({31, 129}, 5), MD_BF16), shared = rounded(normals({31, 129}, 6), MD_BF16);
  const md_tensor out = device.blank({31, 129}, MD_BF16, 3);
  device.run(MD_OP_SCALE_ADD, {device.upload(routed, MD_BF16, 1), device.upload(shared, MD_BF16, 2), out},
             scaled_by(2.5f));
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
  device.run(MD_OP_SCALE_ADD, {device.upload(constant({2, 3}, 3), MD_BF16), absent(), out}, scaled_by(0.5f));
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

TEST(WeighInput, RoundsTheWeightAndThenTheProduct) {
  Device device;
  for (const md_dtype dtype : {MD_F32, MD_BF16, MD_F16}) {
    for (const std::int64_t hidden : kHardSizes) {
      const Array x = rounded(normals({5, hidden}, 11), dtype), weights = rounded(normals({5, 1}, 12), MD_F32);
      const md_tensor out = device.blank({5, hidden}, dtype, 1);
      device.run(MD_OP_WEIGH_INPUT, {device.upload(x, dtype, 2), device.upload(weights, MD_F32, 3), out});
      const Array actual = device.read(out);
      for (std::size_t i = 0; i < x.values.size(); ++i) {
        const double weight = rounded(weights.values[i / static_cast<std::size_t>(hidden)], dtype);
        ASSERT_EQ(actual.values[i], rounded(weight * x.values[i], dtype)) << "H=" << hidden << " dtype " << dtype;
      }
    }
  }
}

TEST(ScaleAdd, RoundsInF16AsWell) {
  Device device;
  const Array routed = rounded(normals({31, 65}, 5), MD_F16), shared = rounded(normals({31, 65}, 6), MD_F16);
  const md_tensor out = device.blank({31, 65}, MD_F16);
  device.run(MD_OP_SCALE_ADD, {device.upload(routed, MD_F16), device.upload(shared, MD_F16), out}, scaled_by(2.827f));
  const Array actual = device.read(out);
  for (std::size_t i = 0; i < routed.values.size(); ++i) {
    // 2.827 times an f16 needs 35 digits: fp32 rounds it before f16 does.
    const double scaled = rounded(rounded(double{2.827f} * routed.values[i], MD_F32), MD_F16);
    ASSERT_EQ(actual.values[i], rounded(scaled + shared.values[i], MD_F16));
  }
}

/// The upper half of a float, as scale_add makes it: the factor times one is the factor.
std::uint32_t bf16_of(Device& device, std::uint32_t bits) {
  const md_tensor out = device.blank({1, 1}, MD_BF16);
  device.run(MD_OP_SCALE_ADD, {device.upload(constant({1, 1}, 1), MD_BF16), absent(), out},
             scaled_by(std::bit_cast<float>(bits)));
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
  device.run(MD_OP_WEIGH_INPUT, {wide, device.blank({0, 1}, MD_F32), wide});
}

}  // namespace
}  // namespace moediff::test
