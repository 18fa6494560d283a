// silu_and_mul against long double and against the limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/api.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;

long double silu_in_long_double(long double x) { return x / (1.0L + std::exp(-x)); }

Activation of_gate(double gate, double up = 1.0) { return silu_and_mul(std::vector<double>{gate, up}, 1, 1); }

TEST(SiluAndMul, TakesGateFromTheFirstHalfOfARowAndUpFromTheSecond) {
  const std::vector<double> gate_up{0, 100, 3, 5,
                                    0, 200, 7, 11};  // rows (gate 0, 100; up 3, 5), (gate 0, 200; up 7, 11)
  const Activation out = silu_and_mul(gate_up, 2, 2);
  EXPECT_THAT(out.up, ElementsAre(3, 5, 7, 11));
  EXPECT_THAT(out.silu, ElementsAre(0, 100, 0, 200));
  EXPECT_THAT(out.value, ElementsAre(0, 500, 0, 2200));
}

TEST(SiluAndMul, IsAccurateOnBothSidesOfZero) {
  for (double x = -700; x <= 700; x += 0.37) {
    const double expected = static_cast<double>(silu_in_long_double(x));
    EXPECT_NEAR(of_gate(x).silu[0], expected, 8e-16 * std::fabs(expected)) << x;
  }
}

TEST(SiluAndMul, HasTheDerivativeOfSilu) {
  for (double x = -40; x <= 40; x += 0.7) {
    const long double h = 1e-6L;
    const double slope = static_cast<double>((silu_in_long_double(x + h) - silu_in_long_double(x - h)) / (2 * h));
    EXPECT_NEAR(of_gate(x).dsilu[0], slope, 1e-11) << x;
  }
}

TEST(SiluAndMul, HasNoNanForHugeOrInfiniteGates) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double x : {1e4, 1e308, kInf}) {
    EXPECT_EQ(of_gate(x).silu[0], x);
    EXPECT_EQ(of_gate(x).dsilu[0], 1.0);
    EXPECT_EQ(of_gate(-x, 3.0).value[0], 0.0);
    EXPECT_EQ(of_gate(-x).dsilu[0], 0.0);
  }
}

TEST(SiluAndMul, RefusesAnArrayOfAnotherSize) {
  EXPECT_THROW(silu_and_mul(std::vector<double>(6), 2, 2), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
