// combine: exact on integers, the order and the roundings of both sums, absent weights, slots without a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

md_params sum_as(int sum) {
  md_params params = scalars();
  params.sum = sum;
  return params;
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
      for (const md_dtype dtype : {MD_F32, MD_BF16, MD_F16}) {
        const md_tensor out = device.blank({tokens, hidden}, dtype, 2);
        device.run(MD_OP_COMBINE,
                   {device.upload(in, dtype, 1), device.upload(rows, MD_I32), device.upload(weights, MD_F32, 2), out});
        ASSERT_THAT(device.read(out).values,
                    ElementsAreArray(rounded(naive_combine(in, rows, &weights, width), dtype).values))
            << "H=" << hidden << " W=" << width;
      }
    }
  }
}

TEST(Combine, WithoutWeightsAddsTheRows) {
  Device device;
  const Array in = integers({12, 33}, 5), rows = backwards(12);
  for (const int sum : {MD_SUM_FP32, MD_SUM_MOE_SUM}) {
    const md_tensor out = device.blank({4, 33}, MD_BF16);
    device.run(MD_OP_COMBINE, {device.upload(in, MD_BF16), device.upload(rows, MD_I32), absent(), out}, sum_as(sum));
    EXPECT_THAT(device.read(out).values, ElementsAreArray(naive_combine(in, rows, nullptr, 3).values));
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

/// 256 + 1 + 1 + ...: in bf16 every 1 is lost, in fp32 none.
TEST(Combine, MoeSumKeepsTheAccumulatorInTheModelDtypeForTwoToFourSlots) {
  Device device;
  for (const std::int64_t width : {1, 2, 3, 4, 5, 8}) {
    Array in = constant({width, 1}, 1), rows{{width}, {}};
    in.values[0] = 256;
    for (std::int64_t j = 0; j < width; ++j) rows.values.push_back(static_cast<double>(j));
    for (const int sum : {MD_SUM_FP32, MD_SUM_MOE_SUM}) {
      const md_tensor out = device.blank({1, 1}, MD_BF16);
      device.run(MD_OP_COMBINE, {device.upload(in, MD_BF16), device.upload(rows, MD_I32), absent(), out}, sum_as(sum));
      const bool loses = sum == MD_SUM_MOE_SUM && width >= 2 && width <= 4;
      const double exact = 256 + static_cast<double>(width) - 1;
      EXPECT_EQ(device.read(out).values[0], loses ? 256 : rounded(exact, MD_BF16)) << "W=" << width << " " << sum;
    }
  }
}

TEST(Combine, MoeSumRoundsEveryProductAndEverySum) {
  Device device;
  const std::int64_t tokens = 31, hidden = 65;
  for (const md_dtype dtype : {MD_F32, MD_BF16, MD_F16}) {
    for (const std::int64_t width : {2, 3, 4}) {
      const Array in = rounded(normals({tokens * width, hidden}, 6), dtype),
                  weights = rounded(normals({tokens, width}, 7), MD_F32), rows = backwards(tokens * width);
      const md_tensor out = device.blank({tokens, hidden}, dtype);
      device.run(MD_OP_COMBINE,
                 {device.upload(in, dtype), device.upload(rows, MD_I32), device.upload(weights, MD_F32), out},
                 sum_as(MD_SUM_MOE_SUM));
      const Array actual = device.read(out);
      for (std::int64_t i = 0; i < tokens * hidden; ++i) {
        const std::int64_t t = i / hidden;
        double sum = 0;
        for (std::int64_t j = 0; j < width; ++j) {
          const auto row = static_cast<std::int64_t>(rows.values[t * width + j]);
          const double product = weights.values[t * width + j] * in.values[row * hidden + i % hidden];
          // fp32 comes first: the product of two floats is rounded to fp32 and then to the dtype.
          sum = rounded(rounded(sum + rounded(rounded(product, MD_F32), dtype), MD_F32), dtype);
        }
        ASSERT_EQ(actual.values[i], sum) << "W=" << width << " element " << i;
      }
    }
  }
}

TEST(Combine, ASlotWithoutARowAddsNothing) {
  Device device;
  for (const int sum : {MD_SUM_FP32, MD_SUM_MOE_SUM}) {
    const md_tensor out = device.blank({1, 2}, MD_F32);
    device.run(MD_OP_COMBINE,
               {device.upload(constant({3, 2}, 4), MD_F32), device.upload({{3}, {-1, 1, 99}}, MD_I32),
                device.upload(constant({1, 3}, 0.5), MD_F32), out},
               sum_as(sum));
    EXPECT_THAT(device.read(out).values, Each(2));
  }
}

}  // namespace
}  // namespace moediff::test
