// linear and grouped_linear against plain loops that follow the definition of each output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/api.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;

/// Numbers with 24-bit significands in (-1, 1), as f32 inputs have: products are exact in double.
std::vector<double> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<double> out;
  std::uint32_t state = seed;
  while (static_cast<std::int64_t>(out.size()) < count) {
    state = state * 1664525u + 1013904223u;
    out.push_back(static_cast<double>(state >> 8) * 0x1p-23 - 1.0);
  }
  return out;
}

struct Element {
  double value = 0, sum_abs = 0, sum_sq_partial = 0;
};

/// One dot product by definition: `splits` ranges of ceil(k / splits), partial sums squared after every step.
Element dot(const double* x, const double* w, std::int64_t k, std::int64_t splits) {
  Element out;
  const std::int64_t length = (k + splits - 1) / splits;
  for (std::int64_t split = 0; split * length < k; ++split) {
    double partial = 0;
    for (std::int64_t i = split * length; i < std::min(k, (split + 1) * length); ++i) {
      partial += x[i] * w[i];
      out.sum_abs += std::fabs(x[i] * w[i]);
      out.sum_sq_partial += partial * partial;
    }
    out.value += partial;
    if (split > 0) out.sum_sq_partial += out.value * out.value;
  }
  return out;
}

struct Size {
  std::int64_t rows, n, k;
  int splits;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.rows << "x" << size.n << "x" << size.k << "/" << size.splits;
}
class LinearSizes : public testing::TestWithParam<Size> {};

TEST_P(LinearSizes, AgreeWithTheDefinition) {
  const auto [rows, n, k, splits] = GetParam();
  const std::vector<double> x = numbers(rows * k, 1), w = numbers(n * k, 2);
  const Terms out = linear(x, rows, Matrix(w, n, k), {splits});
  ASSERT_EQ(out.value.size(), static_cast<std::size_t>(rows * n));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      const Element expected = dot(x.data() + r * k, w.data() + c * k, k, splits);
      const auto i = static_cast<std::size_t>(r * n + c);
      ASSERT_EQ(out.value[i], expected.value) << r << "," << c;
      ASSERT_EQ(out.sum_abs[i], expected.sum_abs) << r << "," << c;
      ASSERT_NEAR(out.sum_sq_partial[i], expected.sum_sq_partial, 1e-13 * expected.sum_sq_partial) << r << "," << c;
    }
  }
}

// Round the unit sizes (4 rows, 256 columns), the block of the transposition (64), odd sizes, splits that do not
// divide.
INSTANTIATE_TEST_SUITE_P(HardSizes, LinearSizes,
                         testing::Values(Size{1, 1, 1, 1}, Size{1, 5, 3, 1}, Size{3, 4, 64, 1}, Size{5, 63, 65, 2},
                                         Size{9, 256, 17, 1}, Size{4, 257, 33, 4}, Size{7, 300, 10, 3},
                                         Size{2, 3, 5, 4}, Size{2, 3, 5, 5}, Size{2, 3, 5, 9}, Size{0, 3, 5, 1}));

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

TEST(Linear, CountsTheLongestChainOfRoundings) {
  const auto steps = [](std::int64_t k, int splits) {
    return linear(std::vector<double>(static_cast<std::size_t>(k)), 1,
                  Matrix(std::vector<double>(static_cast<std::size_t>(k)), 1, k), {splits})
        .steps;
  };
  EXPECT_EQ(steps(7168, 1), 7168);
  EXPECT_EQ(steps(7168, 4), 1792 + 3);
  EXPECT_EQ(steps(5, 4), 2 + 2);  // ranges of 2, 2, 1: the fourth is empty
}

TEST(Linear, GivesARowTheSameBitsAloneAndInABatch) {
  constexpr std::int64_t kRows = 13, kN = 70, kK = 600;
  const std::vector<double> x = numbers(kRows * kK, 3);
  const Matrix weight(numbers(kN * kK, 4), kN, kK);
  const Terms batch = linear(x, kRows, weight);
  for (std::int64_t r = 0; r < kRows; ++r) {
    const Terms alone = linear(std::span(x).subspan(static_cast<std::size_t>(r * kK), kK), 1, weight);
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
  EXPECT_THROW(grouped_linear(x, {}, offsets, one, {0}), std::logic_error);
  EXPECT_THROW(Matrix(x, 2, 2), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
