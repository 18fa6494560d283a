// Gated activations against long double, against numerical derivatives and against limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/api.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;
using Real = long double;

constexpr double kLimit = 7;
constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr ActivationKind kKinds[]{ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                                  ActivationKind::swiglu_clamped, ActivationKind::swigluoai};

Real swish(Real x, Real slope) { return x / (1.0L + std::exp(-slope * x)); }
Real gelu_tanh(Real x) { return x / (1.0L + std::exp(-2 * std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x))); }

/// f(gate), by definition, with 64-bit significands.
Real expected_act(ActivationKind kind, Real x) {
  switch (kind) {
    case ActivationKind::silu:
      return swish(x, 1);
    case ActivationKind::gelu:
      return x * std::erfc(-x / std::sqrt(2.0L)) / 2;
    case ActivationKind::gelu_tanh:
      return gelu_tanh(x);
    case ActivationKind::swiglu_clamped:
      return swish(std::min<Real>(x, kLimit), 1);
    case ActivationKind::swigluoai:
      break;
  }
  return swish(std::min<Real>(x, kLimit), 1.702L);
}

Activation of(ActivationKind kind, double gate, double up = 1.0) {
  return gated_activation(kind, kLimit, std::vector<double>{gate, up}, 1, 1);
}

class EachActivation : public testing::TestWithParam<ActivationKind> {};
INSTANTIATE_TEST_SUITE_P(All, EachActivation, testing::ValuesIn(kKinds), [](const auto& kind) {
  return std::string(kActivationNames[static_cast<std::size_t>(kind.param)]);
});

/// An error in an exponent is multiplied by the exponent: x^2 / 2 of gelu, 1.6 (x + 0.0447 x^3) of its approximation.
double exponent(ActivationKind kind, double x) {
  if (kind == ActivationKind::gelu) return x * x;
  return kind == ActivationKind::gelu_tanh ? 2 * std::fabs(x + 0.045 * x * x * x) : 2 * std::fabs(x);
}

TEST_P(EachActivation, IsAccurateOnBothSidesOfZero) {
  for (double x = -37; x <= 40; x += 0.037) {
    const auto expected = static_cast<double>(expected_act(GetParam(), x));
    const double relative = 4e-16 * (2 + exponent(GetParam(), std::min(x, 0.0)));
    EXPECT_NEAR(of(GetParam(), x).act[0], expected, relative * std::fabs(expected) + 1e-305) << x;
  }
}

TEST_P(EachActivation, HasTheDerivativeOfItsCurve) {
  for (double x = -6.55; x <= 12; x += 0.7) {  // away from the limit, where there is a kink
    const Real h = 1e-6L;
    const auto slope =
        static_cast<double>((expected_act(GetParam(), x + h) - expected_act(GetParam(), x - h)) / (2 * h));
    EXPECT_NEAR(of(GetParam(), x).dact[0], slope, 1e-11) << x;
  }
}

TEST_P(EachActivation, HasNoNanForHugeOrInfiniteGates) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool clamps = GetParam() == ActivationKind::swiglu_clamped || GetParam() == ActivationKind::swigluoai;
  for (const double x : {1e4, 1e300, 1.7e308, kInf}) {
    EXPECT_EQ(of(GetParam(), x).act[0], clamps ? of(GetParam(), kLimit).act[0] : x);
    EXPECT_EQ(of(GetParam(), x).dact[0], clamps ? 0.0 : 1.0);
    EXPECT_EQ(of(GetParam(), -x, 3.0).value[0], 0.0);
    EXPECT_EQ(of(GetParam(), -x).dact[0], 0.0);
  }
  EXPECT_TRUE(std::isnan(of(GetParam(), std::nan("")).act[0]));
}

TEST(GatedActivation, HasThePublishedValues) {
  EXPECT_NEAR(of(ActivationKind::silu, 1).act[0], 0.7310585786300049, 1e-15);
  EXPECT_NEAR(of(ActivationKind::gelu, 1).act[0], 0.8413447460685429, 1e-15);  // the normal distribution at 1
  EXPECT_NEAR(of(ActivationKind::gelu, -1).act[0], -0.15865525393145705, 1e-15);
  EXPECT_NEAR(of(ActivationKind::gelu, -10).act[0] / -7.619853024160526e-23, 1, 1e-14);
  EXPECT_NEAR(of(ActivationKind::gelu_tanh, 1).act[0], 0.8411919906082768, 1e-15);
  EXPECT_NEAR(of(ActivationKind::swigluoai, 1, 1).value[0], 2 * 0.8457957659328212, 1e-15);
}

TEST(GatedActivation, TakesGateFromTheFirstHalfOfARowAndUpFromTheSecond) {
  const std::vector<double> gate_up{0, 100, 3, 5,
                                    0, 200, 7, 11};  // rows (gate 0, 100; up 3, 5), (gate 0, 200; up 7, 11)
  const Activation out = gated_activation(ActivationKind::silu, kLimit, gate_up, 2, 2);
  EXPECT_THAT(out.factor, ElementsAre(3, 5, 7, 11));
  EXPECT_THAT(out.dfactor, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(out.act, ElementsAre(0, 100, 0, 200));
  EXPECT_THAT(out.value, ElementsAre(0, 500, 0, 2200));
}

TEST(GatedActivation, ClampsUpOnBothSidesAndTheGateFromAboveOnly) {
  const auto factor = [](ActivationKind kind, double up) { return of(kind, 1, up).factor[0]; };
  EXPECT_EQ(factor(ActivationKind::silu, 9), 9);
  EXPECT_EQ(factor(ActivationKind::swiglu_clamped, 9), 7);
  EXPECT_EQ(factor(ActivationKind::swiglu_clamped, -9), -7);
  EXPECT_EQ(factor(ActivationKind::swigluoai, 9), 8);
  EXPECT_EQ(factor(ActivationKind::swigluoai, -9), -6);
  EXPECT_EQ(factor(ActivationKind::swigluoai, -0.25), 0.75);
  EXPECT_NE(of(ActivationKind::swiglu_clamped, -9).act[0], of(ActivationKind::swiglu_clamped, -kLimit).act[0]);
}

TEST(GatedActivation, HasNoSlopeWhereItClamps) {
  for (const ActivationKind kind : {ActivationKind::swiglu_clamped, ActivationKind::swigluoai}) {
    EXPECT_EQ(of(kind, 7.5, 1).dact[0], 0);
    EXPECT_GT(of(kind, 6.5, 1).dact[0], 0.9);
    EXPECT_EQ(of(kind, 1, -7.5).dfactor[0], 0);
    EXPECT_EQ(of(kind, 1, -6.5).dfactor[0], 1);
  }
}

TEST(GatedActivation, RefusesAnArrayOfAnotherSize) {
  EXPECT_THROW(gated_activation(ActivationKind::silu, kLimit, std::vector<double>(6), 2, 2), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
