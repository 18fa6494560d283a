// The field's checks, on numbers worked out by hand.
#include "harness/sensitivity/rivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace moediff {
namespace {

bool accepts(std::string_view name, const std::vector<double>& expected, const std::vector<double>& actual) {
  for (const Rival& rival : rivals()) {
    if (rival.name == name) return rival.accepts(expected, actual);
  }
  ADD_FAILURE() << "no rival " << name;
  return false;
}

TEST(Rivals, AllcloseLetsNoElementPastItsTolerance) {
  EXPECT_TRUE(accepts("allclose(1e-2)", {1, 100}, {1.019, 101}));
  EXPECT_FALSE(accepts("allclose(1e-2)", {1, 100}, {1.021, 101}));
  EXPECT_FALSE(accepts("allclose(1e-2)", {1}, {NAN}));
  EXPECT_TRUE(accepts("allclose(1e-2)", {INFINITY}, {INFINITY}));
}

TEST(Rivals, AiterLetsFivePerCentOfAnythingPast) {
  std::vector<double> expected(100, 1.0), actual = expected;
  for (int i = 0; i < 5; ++i) actual[static_cast<std::size_t>(i)] = 1e9;
  EXPECT_TRUE(accepts("AITER 5 %", expected, actual));
  actual[5] = 1e9;
  EXPECT_FALSE(accepts("AITER 5 %", expected, actual));
}

TEST(Rivals, ALooseToleranceOnMostElementsTakesNearlyTwiceTheValue) {
  std::vector<double> expected(1000, 1.0), actual(1000, 1.85);
  for (int i = 0; i < 75; ++i) actual[static_cast<std::size_t>(i)] = -1;
  EXPECT_TRUE(accepts("rtol 0.85 on 92.5 %", expected, actual));
  actual[75] = -1;
  EXPECT_FALSE(accepts("rtol 0.85 on 92.5 %", expected, actual));
}

TEST(Rivals, CalcDiffLosesOneRowAmongManyEqualOnes) {
  // One of n equal rows zeroed: 1 - 2(n-1)/(2n-1) = 1/(2n-1).
  std::vector<double> expected(512, 1.0), actual = expected;
  actual[7] = 0;
  EXPECT_TRUE(accepts("calc_diff < 1e-3", expected, actual)) << "1/1023";
  expected.resize(500);
  actual.resize(500);
  EXPECT_FALSE(accepts("calc_diff < 1e-3", expected, actual)) << "1/999";
}

}  // namespace
}  // namespace moediff
