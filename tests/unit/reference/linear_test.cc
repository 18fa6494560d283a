// linear and grouped_linear against plain loops that follow the definition of each output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/api.h"
#include "tests/unit/reference/numbers.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;

struct Element {
  double value = 0, sum_abs = 0, sum_sq_partial = 0;
};

/// One dot product by definition: ranges of blocks, everything squared that is rounded.
Element dot(const double* x, const double* w, std::int64_t k, const Accumulation& how) {
  Element out;
  const auto round = [&](double sum, int count = 1) { out.sum_sq_partial += count * sum * sum; };
  std::int64_t length = (k + how.splits - 1) / how.splits;
  const std::int64_t block = how.block > 0 ? how.block : std::max<std::int64_t>(length, 1);
  while (length % block != 0) ++length;
  for (std::int64_t begin = 0; begin < k; begin += length) {
    double range = 0;
    for (std::int64_t at = begin; at < std::min(k, begin + length); at += block) {
      double sum = 0;
      for (std::int64_t i = at; i < std::min({k, begin + length, at + block}); ++i) {
        sum += x[i] * w[i];
        out.sum_abs += std::fabs(x[i] * w[i]);
        if (!how.integer) round(sum);
      }
      round(sum, how.block_roundings);
      range += sum;
      if (at > begin) round(range);
    }
    round(range, how.range_roundings + (how.integer ? 1 : 0));
    out.value += range;
    if (begin > 0) round(out.value);
  }
  return out;
}

struct Size {
  std::int64_t rows, n, k;
  Accumulation how;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.rows << "x" << size.n << "x" << size.k << "/" << size.how.splits << " block " << size.how.block;
}
class LinearSizes : public testing::TestWithParam<Size> {};

TEST_P(LinearSizes, AgreeWithTheDefinition) {
  const auto [rows, n, k, how] = GetParam();
  const std::vector<double> x = numbers(rows * k, 1), w = numbers(n * k, 2);
  const Terms out = linear(x, rows, Matrix(w, n, k), how);
  ASSERT_EQ(out.value.size(), static_cast<std::size_t>(rows * n));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      const Element expected = dot(x.data() + r * k, w.data() + c * k, k, how);
      const auto i = static_cast<std::size_t>(r * n + c);
      ASSERT_EQ(out.value[i], expected.value) << r << "," << c;
      ASSERT_EQ(out.sum_abs[i], expected.sum_abs) << r << "," << c;
      ASSERT_NEAR(out.sum_sq_partial[i], expected.sum_sq_partial, 1e-13 * expected.sum_sq_partial) << r << "," << c;
    }
  }
}

// Round the unit sizes (4 rows, 256 columns), the block of the transposition (64), odd sizes, splits that do not
// divide, blocks that do not divide, blocks longer than the range or the sum, ranges that stay empty.
INSTANTIATE_TEST_SUITE_P(HardSizes, LinearSizes,
                         testing::Values(Size{1, 1, 1, {1}}, Size{1, 5, 3, {1}}, Size{3, 4, 64, {1}},
                                         Size{5, 63, 65, {2}}, Size{9, 256, 17, {1}}, Size{4, 257, 33, {4}},
                                         Size{7, 300, 10, {3}}, Size{2, 3, 5, {4}}, Size{2, 3, 5, {5}},
                                         Size{2, 3, 5, {9}}, Size{0, 3, 5, {1}}, Size{2, 3, 0, {2}},
                                         Size{3, 5, 64, {1, 16, 2, 0}}, Size{3, 5, 70, {1, 16, 2, 1}},
                                         Size{3, 5, 70, {2, 16, 2, 1}}, Size{2, 5, 70, {3, 16, 0, 0}},
                                         Size{2, 5, 7, {4, 16, 2, 3}}, Size{2, 5, 33, {1, 1, 1, 0}},
                                         Size{2, 5, 40, {2, 0, 0, 2}}, Size{2, 5, 40, {1, 0, 0, 3, true}},
                                         Size{2, 5, 41, {3, 0, 0, 2, true}}));

TEST(Linear, WorksOutByHand) {
  const std::vector<double> x{1, -2, 3}, w{1, 1, 1, 2, 0, -1};
  const Terms out = linear(x, 1, Matrix(w, 2, 3));
  EXPECT_THAT(out.value, ElementsAre(1 - 2 + 3, 2 - 3));
  EXPECT_THAT(out.sum_abs, ElementsAre(6, 5));
  EXPECT_THAT(out.sum_sq_partial, ElementsAre(1 + 1 + 4, 4 + 4 + 1));
  EXPECT_EQ(out.steps, 3);
}

TEST(Linear, AddsTheSplitsInOrderAndSquaresTheirRunningSum) {
  const std::vector<double> x{1, 2, 3, 4, 5}, ones(5, 1.0);
  const Terms out = linear(x, 1, Matrix(ones, 1, 5), {2});  // 1 2 3 | 4 5
  EXPECT_EQ(out.value[0], 15);
  EXPECT_EQ(out.sum_sq_partial[0], 1 + 9 + 36 + 16 + 81 + 225);
  EXPECT_EQ(out.steps, 3 + 1);
}

TEST(Linear, AddsBlocksThatStartFromZero) {
  const std::vector<double> x{1, 2, 3, 4, 5}, ones(5, 1.0);
  const Terms out = linear(x, 1, Matrix(ones, 1, 5), {1, 2, 3, 4});  // 1 2 | 3 4 | 5
  EXPECT_EQ(out.value[0], 15);
  const double products = 1 + 9 + 9 + 49 + 25, scales = 3 * (9 + 49 + 25), additions = 100 + 225;
  EXPECT_EQ(out.sum_sq_partial[0], products + scales + additions + 4 * 225);
}

TEST(Linear, RoundsAnIntegerSumOnceARange) {
  const std::vector<double> x{1, 2, 3, 4, 5}, ones(5, 1.0);
  EXPECT_EQ(linear(x, 1, Matrix(ones, 1, 5), {1, 0, 0, 0, true}).sum_sq_partial[0], 225);
  EXPECT_EQ(linear(x, 1, Matrix(ones, 1, 5), {2, 0, 0, 2, true}).sum_sq_partial[0], 3 * (36 + 81) + 225);
}

TEST(Linear, HasInfiniteSquaresNotNanOnesWhereTheyOverflow) {
  const std::vector<double> x{1e200}, one{1};
  const Terms out = linear(x, 1, Matrix(one, 1, 1));
  EXPECT_EQ(out.value[0], 1e200);
  EXPECT_EQ(out.sum_sq_partial[0], std::numeric_limits<double>::infinity());
}

TEST(Linear, CountsTheLongestChainOfRoundings) {
  const auto steps = [](std::int64_t k, const Accumulation& how) {
    return linear(std::vector<double>(static_cast<std::size_t>(k)), 1,
                  Matrix(std::vector<double>(static_cast<std::size_t>(k)), 1, k), how)
        .steps;
  };
  EXPECT_EQ(steps(7168, {}), 7168);
  EXPECT_EQ(steps(7168, {4}), 1792 + 3);
  EXPECT_EQ(steps(5, {4}), 2 + 2);                        // ranges of 2, 2, 1: the fourth is empty
  EXPECT_EQ(steps(7168, {1, 128, 2}), 128 + 2 + 55);      // first block, its scales, the other 55 blocks
  EXPECT_EQ(steps(7168, {4, 128, 2}), 128 + 2 + 13 + 3);  // 14 blocks a range
  EXPECT_EQ(steps(7168, {1, 0, 0, 3}), 7168 + 3);
  EXPECT_EQ(steps(7168, {2, 0, 0, 3, true}), 1 + 3 + 1);
  EXPECT_EQ(steps(100, {1, 128, 2}), 100 + 2);
  EXPECT_EQ(steps(0, {1, 128, 2, 1}), 0);
}

__extension__ using Integer = __int128;

TEST(Linear, AgreesWithExactRationalArithmetic) {
  constexpr std::int64_t kN = 30, kK = 700;
  const std::vector<double> x = numbers(kK, 7), w = numbers(kN * kK, 8);
  const auto numerator = [](double value) { return static_cast<std::int64_t>(value * 0x1p23); };
  for (const Accumulation& how : {Accumulation{}, Accumulation{3}, Accumulation{2, 128, 2, 1}}) {
    const Terms out = linear(x, 1, Matrix(w, kN, kK), how);
    for (std::int64_t n = 0; n < kN; ++n) {
      Integer sum = 0;
      for (std::int64_t k = 0; k < kK; ++k) {
        sum += static_cast<Integer>(numerator(x[static_cast<std::size_t>(k)])) *
               numerator(w[static_cast<std::size_t>(n * kK + k)]);
      }
      const auto i = static_cast<std::size_t>(n);
      const auto error = static_cast<double>(static_cast<long double>(sum) * 0x1p-46L - out.value[i]);
      EXPECT_LE(std::fabs(error), 0x1p-53 * static_cast<double>(kK) * out.sum_abs[i]);
      EXPECT_LE(std::fabs(error), 8 * 0x1p-53 * std::sqrt(out.sum_sq_partial[i]));
    }
  }
}

TEST(Linear, GivesARowTheSameBitsAloneAndInABatch) {
  constexpr std::int64_t kRows = 13, kN = 70, kK = 600;
  const std::vector<double> x = numbers(kRows * kK, 3);
  const Matrix weight(numbers(kN * kK, 4), kN, kK);
  const Accumulation how{2, 128, 2, 1};
  const Terms batch = linear(x, kRows, weight, how);
  for (std::int64_t r = 0; r < kRows; ++r) {
    const Terms alone = linear(std::span(x).subspan(static_cast<std::size_t>(r * kK), kK), 1, weight, how);
    const auto in_batch = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + r * kN, all.begin() + (r + 1) * kN);
    };
    EXPECT_EQ(alone.value, in_batch(batch.value));
    EXPECT_EQ(alone.sum_abs, in_batch(batch.sum_abs));
    EXPECT_EQ(alone.sum_sq_partial, in_batch(batch.sum_sq_partial));
  }
}

TEST(GroupedLinear, MultipliesEachRowWithItsExpert) {
  const std::vector<double> x{1, 2, 10, 20, 100, 200};  // three tokens of two
  const std::vector<Matrix> weights{Matrix(std::vector<double>{1, 0}, 1, 2), Matrix(std::vector<double>{5, 5}, 1, 2),
                                    Matrix(std::vector<double>{0, 1}, 1, 2)};
  const std::vector<std::int32_t> offsets{0, 3, 3, 5}, source{2, 0, 1, 2, 2};
  const Terms out = grouped_linear(x, source, offsets, weights);
  EXPECT_THAT(out.value, ElementsAre(100, 1, 10, 200, 200));
}

TEST(GroupedLinear, TakesRowsInOrderWithoutSource) {
  const std::vector<double> x{1, 2, 3};
  const std::vector<Matrix> weights{Matrix(std::vector<double>{10}, 1, 1), Matrix(std::vector<double>{100}, 1, 1)};
  EXPECT_THAT(grouped_linear(x, {}, std::vector<std::int32_t>{0, 1, 3}, weights).value, ElementsAre(10, 200, 300));
}

TEST(GroupedLinear, RefusesWhatDoesNotFitTogether) {
  const std::vector<double> x{1, 2};
  const std::vector<Matrix> one{Matrix(std::vector<double>{1, 1}, 1, 2)};
  const std::vector<std::int32_t> offsets{0, 1}, descending{1, 0}, too_many{0, 2}, no_row{1};
  EXPECT_NO_THROW(grouped_linear(x, {}, offsets, one));
  EXPECT_THROW(grouped_linear(x, {}, descending, one), std::logic_error);
  EXPECT_THROW(grouped_linear(x, {}, too_many, one), std::logic_error);
  EXPECT_THROW(grouped_linear(x, no_row, offsets, one), std::logic_error);
  for (const Accumulation& how : {Accumulation{0}, Accumulation{1, -1}, Accumulation{1, 0, 1},
                                  Accumulation{1, 0, 0, -1}, Accumulation{1, 2, 0, 0, true}}) {
    EXPECT_THROW(grouped_linear(x, {}, offsets, one, how), std::logic_error);
  }
  EXPECT_THROW(Matrix(x, 2, 2), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
