// The bounds against what fp32 really does: Monte Carlo over accumulations, exact sets round the roundings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/compare/bounds/acceptance.h"
#include "harness/compare/bounds/accumulation.h"
#include "harness/compare/bounds/activation.h"
#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/router.h"
#include "harness/core/random.h"

namespace moediff::bounds {
namespace {

using Form = RoundingRow::Form;

/// One random dot product: exact in long double, and accumulated in fp32.
struct Sample {
  double exact = 0, sum_abs = 0, sum_sq_partial = 0;
  float computed = 0;
};

Sample random_dot(std::uint64_t key, int k, double offset) {
  Sample s;
  long double exact = 0;
  for (int i = 0; i < k; ++i) {
    const auto a = static_cast<float>(random_normal(key, 2 * i) + offset),
               b = static_cast<float>(random_normal(key, 2 * i + 1) + offset);
    const long double term = static_cast<long double>(a) * static_cast<long double>(b);
    exact += term;
    s.sum_abs += static_cast<double>(std::fabs(term));
    s.sum_sq_partial += static_cast<double>(exact * exact);
    s.computed = std::fma(a, b, s.computed);
  }
  s.exact = static_cast<double>(exact);
  return s;
}

Acceptance single(Form form, DType dtype, double value, Delta delta) {
  Acceptance a;
  a.form = form;
  a.dtype = dtype;
  a.value = {value};
  a.delta = {delta};
  return a;
}

TEST(Bounds, LambdaFollowsFromTheStatedProbability) {
  // Two-sided Hoeffding tail at lambda, times the elements of a suite, is the suite's failure probability.
  const double lambda = statistical_factor();
  EXPECT_NEAR(2 * std::exp(-lambda * lambda / 2) * 1e9, 1e-9, 1e-14);
  EXPECT_NEAR(lambda, 9.18, 0.005);
}

TEST(Bounds, GammaIsHighams) {
  EXPECT_DOUBLE_EQ(gamma(1, 0.25), 0.25 / 0.75);
  EXPECT_TRUE(std::isinf(gamma(4, 0.25)));
}

class Accumulations : public testing::TestWithParam<int> {};

TEST_P(Accumulations, OfRealFp32StayInsideTheBudgetWithoutWastingIt) {
  for (const double offset : {0.0, 1.0}) {
    double worst = 0;
    const int k = GetParam();
    for (int n = 0; n < 400000 / k; ++n) {
      const Sample s =
          random_dot(stream_key(static_cast<std::uint64_t>(n), offset > 0 ? "biased" : "centred"), k, offset);
      const Delta delta = accumulation_error(s.sum_abs, s.sum_sq_partial, k, 0);
      const double error = std::fabs(static_cast<double>(s.computed) - s.exact);
      EXPECT_LE(error, gamma(k, kU32) * s.sum_abs);
      EXPECT_GE(delta.hard, delta.statistical);
      worst = std::max(worst, error / delta.statistical);
    }
    RecordProperty("worst_budget_offset_" + std::to_string(static_cast<int>(offset)), std::to_string(worst));
    EXPECT_LT(worst, 0.6);
    EXPECT_GT(worst, 0.06);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, Accumulations, testing::Values(1, 2, 8, 64, 512, 7168));

TEST(Bounds, TheHardBoundOfLongSumsIsFarAboveTheStatisticalOne) {
  const Sample s = random_dot(1, 7168, 0);
  const Delta delta = accumulation_error(s.sum_abs, s.sum_sq_partial, 7168, 0);
  EXPECT_GT(delta.hard, 5 * delta.statistical);
}

TEST(Bounds, SmallIntegersAccumulateExactlyUpToTwoToThe24) {
  const std::vector<double> x{1, -2, 3}, w{0.5, 0.25, 4}, odd{0.1}, broken{1, NAN};
  EXPECT_EQ(grid_exponent(x), 0);
  EXPECT_EQ(grid_exponent(w), -2);
  EXPECT_TRUE(accumulates_exactly(0x1p22, -2, 0));
  EXPECT_FALSE(accumulates_exactly(0x1p22 + 1, -2, 0));
  EXPECT_FALSE(accumulates_exactly(0.1, grid_exponent(odd), 0));
  EXPECT_FALSE(accumulates_exactly(1, grid_exponent(broken), 0));
  EXPECT_FALSE(accumulates_exactly(0x1p-140, -200, 0));  // below fp32's subnormals
  EXPECT_FALSE(accumulates_exactly(1, -2, 0x1p-2));      // a factor in between was lost near zero
}

TEST(Acceptance, ABf16ResultMustBeTheRoundingOfAValueWithinTheError) {
  const Acceptance a = single(Form::dot, DType::bf16, 1.0, {1e-6, 2e-6});
  EXPECT_EQ(budget_used(a, 0, 1.0), 0);
  EXPECT_FALSE(acceptable(a, 0, 1, Level::statistical).contains(1 + 0x1p-7));
  EXPECT_FALSE(acceptable(a, 0, 1, Level::hard).contains(1 - 0x1p-8));
}

TEST(Acceptance, NearARoundingBoundaryBothNeighboursAreAccepted) {
  const double tie = 1 + 0x1p-8;  // between 1 and 1 + 2^-7, ties to even: 1
  const Acceptance a = single(Form::dot, DType::bf16, tie - 1e-7, {1e-6, 1e-6});
  EXPECT_EQ(budget_used(a, 0, 1.0), 0);
  EXPECT_NEAR(budget_used(a, 0, 1 + 0x1p-7), 0.1, 0.01);  // 1e-7 of the 1e-6
  EXPECT_GT(budget_used(a, 0, 1 + 0x1p-6), 1000);
}

TEST(Acceptance, BudgetOfAnFp32ResultIsErrorOverBound) {
  const Acceptance a = single(Form::dot, DType::f32, 1.0, {1e-6, 1e-5});
  EXPECT_NEAR(budget_used(a, 0, 1.0 + 5e-7), 0.5, 1e-6);
  EXPECT_NEAR(budget_used(a, 0, 1.0 - 3e-6), 3.0, 1e-6);
  EXPECT_TRUE(acceptable(a, 0, 1, Level::hard).contains(1.0 - 3e-6));
}

TEST(Acceptance, InfinityIsRightOnlyWhereTheExpectedValueOverflows) {
  const Acceptance over = single(Form::dot, DType::bf16, 3.4e38, {1e30, 1e30}),
                   under = single(Form::dot, DType::bf16, 1e38, {1e30, 1e30});
  EXPECT_EQ(budget_used(over, 0, INFINITY), 0);
  EXPECT_EQ(budget_used(under, 0, INFINITY), kBudgetCap);
}

TEST(Acceptance, AGatedProductCarriesTheIntervalThroughBothRoundings) {
  for (const double up : {3.0, -3.0}) {
    Acceptance a = single(Form::gated, DType::bf16, (1 + 0x1p-8) * up, {1e-4, 1e-4});
    a.inner = {1 + 0x1p-8};  // the tie: silu may be stored as 1 or as 1 + 2^-7
    a.second = {up};
    EXPECT_EQ(budget_used(a, 0, up), 0);
    const double other = up + up * 0x1p-7;  // 3.0234 is rounded to 3.03125 (ties to even)
    const double stored = std::copysign(3.03125, other);
    EXPECT_LT(budget_used(a, 0, stored), 0.01);
    EXPECT_GT(budget_used(a, 0, -up), 10000);
  }
}

TEST(Acceptance, ScaleAddRoundsTheProductBeforeTheSum) {
  // 2.5 * (1 + 2^-7) = 2.51953125 lies between the bf16 2.515625 and 2.53125; rounded it is 2.515625. Plus 2^-8 it is
  // 2.51953125 again, hence 2.515625; unrounded it would have been 2.5234375, a tie that goes to 2.53125... not
  // allowed.
  Acceptance a;
  a.form = Form::scale_add;
  a.dtype = DType::bf16;
  a.inner = {2.5 * (1 + 0x1p-7)};
  a.second = {0x1p-8};
  a.value = {a.inner[0] + a.second[0]};
  EXPECT_EQ(budget_used(a, 0, 2.515625), 0);
  EXPECT_GT(budget_used(a, 0, 2.53125), 100);
}

TEST(Scores, RealFp32SigmoidsStayInsideTheirErrors) {
  for (int i = 0; i < 20000; ++i) {
    const float z = static_cast<float>(-95 + 190 * random_uniform(7, static_cast<std::uint64_t>(i)));
    const double exact = 1 / (1 + std::exp(-static_cast<double>(z)));
    const float sigmoid = 1.0f / (1.0f + std::exp(-z));
    const std::vector<double> logit{z}, score{exact};
    EXPECT_LE(std::fabs(static_cast<double>(sigmoid) - exact), score_errors(logit, score, Scoring::sigmoid)[0]) << z;
  }
}

TEST(Scores, RealFp32SoftmaxesStayInsideTheirErrorsWithoutWastingThem) {
  double worst = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const std::size_t experts = 2 + key % 255;
    const double spread = std::ldexp(1.0, static_cast<int>(key % 7));
    std::vector<double> logits, exact;
    double sum = 0;
    for (std::size_t i = 0; i < experts; ++i) logits.push_back(static_cast<float>(spread * random_normal(key, i)));
    const double most = *std::max_element(logits.begin(), logits.end());
    for (const double z : logits) sum += std::exp(z - most);
    float computed_sum = 0;
    for (const double z : logits) computed_sum += std::exp(static_cast<float>(z) - static_cast<float>(most));
    for (const double z : logits) exact.push_back(std::exp(z - most) / sum);
    const std::vector<double> error = score_errors(logits, exact, Scoring::softmax);
    for (std::size_t i = 0; i < experts; ++i) {
      const float score = std::exp(static_cast<float>(logits[i]) - static_cast<float>(most)) / computed_sum;
      EXPECT_LE(std::fabs(static_cast<double>(score) - exact[i]), error[i]);
      if (exact[i] > 1e-30) worst = std::max(worst, std::fabs(static_cast<double>(score) - exact[i]) / error[i]);
    }
  }
  EXPECT_GT(worst, 0.15);
}

class Activations : public testing::TestWithParam<ActivationKind> {};

/// f(gate) in fp32 as vLLM's kernels write it, and in double from another formula.
std::pair<float, double> activated(ActivationKind kind, float g) {
  const double z = g, root = 0.79788456080286535588 * (z + 0.044715 * z * z * z);
  switch (kind) {
    case ActivationKind::gelu:
      return {g * 0.5f * (1.0f + std::erf(g * 0.70710678118654752440f)), z * 0.5 * std::erfc(-z / std::sqrt(2.0))};
    case ActivationKind::gelu_tanh:
      return {0.5f * g * (1.0f + std::tanh(0.79788456f * (g + 0.044715f * g * g * g))), z / (1 + std::exp(-2 * root))};
    case ActivationKind::swigluoai:
      return {g / (1.0f + std::exp(-1.702f * g)), z / (1 + std::exp(-1.702 * z))};
    default:
      return {g / (1.0f + std::exp(-g)), z / (1 + std::exp(-z))};
  }
}

TEST_P(Activations, InRealFp32StayInsideTheirErrorsWithoutWastingThem) {
  double worst = 0;
  for (std::uint64_t i = 0; i < 40000; ++i) {
    const double span = i % 2 == 0 ? 95 : 6;
    const float gate = static_cast<float>(span * (2 * random_uniform(7, i) - 1));
    const auto [computed, exact] = activated(GetParam(), gate);
    const double error = activation_error(GetParam(), 1e9, gate, exact);
    EXPECT_LE(std::fabs(static_cast<double>(computed) - exact), error) << gate;
    if (gate > -20) worst = std::max(worst, std::fabs(static_cast<double>(computed) - exact) / error);
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_GT(worst, 0.15);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Activations,
                         testing::Values(ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                                         ActivationKind::swigluoai),
                         [](const auto& named) {
                           return std::string(kActivationNames[static_cast<std::size_t>(named.param)]);
                         });

TEST(Activations, GeluIsNotTakenForItsTanhApproximation) {
  const auto [gelu, exact] = activated(ActivationKind::gelu, 1.5f);
  const auto [tanh_form, approximation] = activated(ActivationKind::gelu_tanh, 1.5f);
  EXPECT_GT(std::fabs(exact - approximation), 100 * activation_error(ActivationKind::gelu, 7, 1.5, exact));
  EXPECT_NEAR(static_cast<double>(gelu - tanh_form), exact - approximation, 1e-6);
}

}  // namespace
}  // namespace moediff::bounds
