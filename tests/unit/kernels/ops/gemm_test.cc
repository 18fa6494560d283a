// Grouped and dense GEMMs against double loops. Small integers make every sum exact in fp32, so the only rounding is
// the last one and any difference is an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::ElementsAreArray;

md_params split(int k) {
  md_params params{};
  params.split_k = k;
  return params;
}

/// Three experts, the middle one without tokens.
std::vector<std::int64_t> uneven(std::int64_t rows) { return {rows / 3, 0, rows - rows / 3}; }

Array every_slot_backwards(std::int64_t rows) {
  Array slots{{rows}, {}};
  for (std::int64_t r = rows; r-- > 0;) slots.values.push_back(static_cast<double>(r));
  return slots;
}

class GemmShapes : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(HardSizes, GemmShapes, ::testing::ValuesIn(kHardSizes));

TEST_P(GemmShapes, SharedGemm2IsExactForEachPairWithAnotherHardSize) {
  Device device;
  const std::int64_t n = GetParam();
  for (const std::int64_t k : kHardSizes) {
    const std::int64_t tokens = (k * 7 + n) % 40;
    const Array a = integers({tokens, k}, 1), w = integers({n, k}, 2);
    for (const md_dtype dtype : {MD_F32, MD_BF16}) {
      const md_tensor out = device.blank({tokens, n}, dtype);
      device.run(MD_OP_SHARED_GEMM2, {device.upload(a, dtype), device.upload(w, dtype), out});
      ASSERT_THAT(device.read(out).values,
                  ElementsAreArray(rounded(naive_gemm(a, w, nullptr, 1, nullptr), dtype).values))
          << "T=" << tokens << " K=" << k << " N=" << n;
    }
  }
}

TEST_P(GemmShapes, SharedGemm1IsExactForThisManyTokensInOneLaunchAndSplit) {
  Device device;
  const std::int64_t tokens = GetParam();
  const Array a = integers({tokens, 67}, 3), w = integers({66, 67}, 4);
  for (const int splits : {1, 2, 3, 5}) {
    const md_tensor out = device.blank({tokens, 66}, MD_BF16);
    const md_tensor workspace = device.blank({splits, tokens, 66}, MD_F32);
    device.run(MD_OP_SHARED_GEMM1, {device.upload(a, MD_BF16), device.upload(w, MD_BF16), out, workspace},
               split(splits));
    ASSERT_THAT(device.read(out).values,
                ElementsAreArray(rounded(naive_gemm(a, w, nullptr, 1, nullptr), MD_BF16).values))
        << "splits=" << splits;
  }
}

TEST_P(GemmShapes, Gemm1GathersTheTokenOfEachRowForThisManyTokens) {
  Device device;
  const std::int64_t tokens = GetParam(), rows = 2 * tokens;
  const Array a = integers({tokens, 33}, 5), w = integers({3, 10, 33}, 6), slots = every_slot_backwards(rows);
  const Array offsets = offsets_of(uneven(rows));
  const md_tensor out = device.blank({rows, 10}, MD_BF16);
  device.run(MD_OP_GEMM1, {device.upload(a, MD_BF16), device.upload(slots, MD_I32), device.upload(offsets, MD_I32),
                           device.upload(w, MD_BF16), out, absent()});
  EXPECT_THAT(device.read(out).values,
              ElementsAreArray(rounded(naive_gemm(a, w, &slots, 2, &offsets), MD_BF16).values));
}

TEST_P(GemmShapes, Gemm2UsesEachExpertsWeightsForThisManyRows) {
  Device device;
  const std::int64_t rows = GetParam();
  const Array a = integers({rows, 31}, 7), w = integers({3, 129, 31}, 8), offsets = offsets_of(uneven(rows));
  const md_tensor out = device.blank({rows, 129}, MD_F32);
  device.run(MD_OP_GEMM2, {device.upload(a, MD_F32), device.upload(offsets, MD_I32), device.upload(w, MD_F32), out});
  EXPECT_THAT(device.read(out).values, ElementsAreArray(naive_gemm(a, w, nullptr, 1, &offsets).values));
}

TEST(Gemm, EveryDistributionOfRowsOverManyExpertsIsServed) {
  Device device;
  for (const std::vector<std::int64_t>& rows : std::vector<std::vector<std::int64_t>>{{1, 1, 1, 1, 1, 1, 1, 1},
                                                                                      {0, 0, 0, 0, 0, 0, 0, 8},
                                                                                      {33, 0, 1, 32, 31, 0, 64, 2},
                                                                                      {0, 0, 0, 0, 0, 0, 0, 0}}) {
    const Array offsets = offsets_of(rows);
    const auto total = static_cast<std::int64_t>(offsets.values.back());
    const Array a = integers({total, 9}, 9), w = integers({8, 5, 9}, 10);
    const md_tensor out = device.blank({total, 5}, MD_F32);
    device.run(MD_OP_GEMM2, {device.upload(a, MD_F32), device.upload(offsets, MD_I32), device.upload(w, MD_F32), out});
    EXPECT_THAT(device.read(out).values, ElementsAreArray(naive_gemm(a, w, nullptr, 1, &offsets).values));
  }
}

TEST(Gemm, SplitGemm1OfMoreRangesThanProductsIsExact) {
  Device device;
  const Array a = integers({3, 5}, 11), w = integers({2, 4, 5}, 12), slots = every_slot_backwards(3),
              offsets = offsets_of({2, 1});
  const md_tensor out = device.blank({3, 4}, MD_F32), workspace = device.blank({7, 3, 4}, MD_F32);
  device.run(MD_OP_GEMM1,
             {device.upload(a, MD_F32), device.upload(slots, MD_I32), device.upload(offsets, MD_I32),
              device.upload(w, MD_F32), out, workspace},
             split(7));
  EXPECT_THAT(device.read(out).values, ElementsAreArray(naive_gemm(a, w, &slots, 1, &offsets).values));
}

TEST(Gemm, SplitSumsAreThoseOfEqualRangesAddedInOrder) {
  Device device;
  const std::int64_t k = 10;  // ranges of 4, 4 and 2
  const Array a = rounded(normals({1, k}, 13), MD_F32), w = rounded(normals({2, k}, 14), MD_F32);
  const md_tensor out = device.blank({1, 2}, MD_F32), workspace = device.blank({3, 1, 2}, MD_F32);
  device.run(MD_OP_SHARED_GEMM1, {device.upload(a, MD_F32), device.upload(w, MD_F32), out, workspace}, split(3));
  for (int n = 0; n < 2; ++n) {
    float sum = 0;
    for (int first : {0, 4, 8}) {
      float part = 0;
      for (int i = first; i < std::min<int>(first + 4, k); ++i) {
        part = std::fma(static_cast<float>(a.values[i]), static_cast<float>(w.values[n * k + i]), part);
      }
      sum = first == 0 ? part : sum + part;
    }
    EXPECT_EQ(device.read(out).values[n], sum);
  }
}

TEST(Gemm, SplitSumsAreAddedInAscendingOrder) {
  Device device;
  const Array a{{1, 3}, {0x1p24, 1, -0x1p24}};  // (2^24 + 1) - 2^24 loses the 1, any other order keeps it
  const md_tensor out = device.blank({1, 2}, MD_F32), workspace = device.blank({3, 1, 2}, MD_F32);
  device.run(MD_OP_SHARED_GEMM1, {device.upload(a, MD_F32), device.upload(constant({2, 3}, 1), MD_F32), out, workspace},
             split(3));
  EXPECT_EQ(device.read(out).values[0], 0);
}

TEST(Gemm, PaddedRowsOfEveryOperandAreRespectedAndPaddingIsLeftAlone) {
  Device device;
  const Array a = integers({35, 65}, 15), w = integers({2, 6, 65}, 16), slots = every_slot_backwards(35),
              offsets = offsets_of({1, 34});
  const md_tensor out = device.blank({35, 6}, MD_BF16, 3), workspace = device.blank({2, 35, 6}, MD_F32, 5);
  device.run(MD_OP_GEMM1,
             {device.upload(a, MD_BF16, 7), device.upload(slots, MD_I32), device.upload(offsets, MD_I32),
              device.upload(w, MD_BF16, 2), out, workspace},
             split(2));
  EXPECT_THAT(device.read(out).values,
              ElementsAreArray(rounded(naive_gemm(a, w, &slots, 1, &offsets), MD_BF16).values));
  const std::vector<std::uint8_t> memory = device.bytes(out);
  for (std::size_t row = 0; row < 35; ++row) {
    for (std::size_t i = (row * 9 + 6) * 2; i < (row * 9 + 9) * 2; ++i) ASSERT_EQ(memory[i], 0xFF) << "row " << row;
  }
}

TEST(Gemm, RandomNumbersStayWithinTheRoundingBoundOfTheSum) {
  Device device;
  const std::int64_t k = 300;
  const Array a = rounded(normals({40, k}, 17), MD_BF16), w = rounded(normals({70, k}, 18), MD_BF16);
  const md_tensor out = device.blank({40, 70}, MD_BF16);
  device.run(MD_OP_SHARED_GEMM2, {device.upload(a, MD_BF16), device.upload(w, MD_BF16), out});
  Array absolute_a = a, absolute_w = w;
  for (double& v : absolute_a.values) v = std::abs(v);
  for (double& v : absolute_w.values) v = std::abs(v);
  const Array exact = naive_gemm(a, w, nullptr, 1, nullptr),
              magnitude = naive_gemm(absolute_a, absolute_w, nullptr, 1, nullptr);
  const Array actual = device.read(out);
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    const double accumulation = static_cast<double>(k) * 0x1p-24 * magnitude.values[i];
    ASSERT_LE(std::abs(actual.values[i] - exact.values[i]),
              accumulation + 0x1p-8 * (std::abs(exact.values[i]) + accumulation));
  }
}

TEST(Gemm, SlotsAndOffsetsThatAreNonsenseGiveNumbersInsteadOfAnAccessOutOfBounds) {
  Device device;
  const Array a = integers({4, 8}, 19), w = integers({2, 6, 8}, 20);
  const md_tensor out = device.blank({4, 6}, MD_F32);
  const Array slots{{4}, {-1, 1e9, 3, 4}}, offsets{{3}, {-5, 2, 1e9}};
  device.run(MD_OP_GEMM1, {device.upload(a, MD_F32), device.upload(slots, MD_I32), device.upload(offsets, MD_I32),
                           device.upload(w, MD_F32), out, absent()});
  const Array actual = device.read(out);
  EXPECT_EQ(actual.values[0], 0);
  Array good{{1}, {3}}, second = offsets_of({0, 1});
  EXPECT_EQ(actual.values[2 * 6], naive_gemm(a, w, &good, 1, &second).values[0]);
}

}  // namespace
}  // namespace moediff::test
