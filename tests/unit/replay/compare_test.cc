// Each measure on numbers by hand: what passes, what fails, and by how much.
#include "harness/replay/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace moediff {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

Check by(Measure measure, double limit, const std::vector<double>& expected, const std::vector<double>& actual,
         Rows rows = {}) {
  const auto count = static_cast<std::int64_t>(rows.empty() ? 1 : rows.size());
  return compare_values({"t", "o", "f64", "final"}, expected, {actual, count, rows, ""}, {measure, limit});
}

TEST(Compare, OfLargestIsTheLargestDifferenceOverTheLargestExpectedMagnitude) {
  const Check check = by(Measure::of_largest, 0.1, {-4, 1, 2}, {-4, 1.5, 2});
  EXPECT_EQ(check.measured, 0.125);
  EXPECT_FALSE(check.pass);
  EXPECT_NE(check.note.find("expected 1, computed 1.5"), std::string::npos) << check.note;
  EXPECT_TRUE(by(Measure::of_largest, 0.125, {-4, 1, 2}, {-4, 1.5, 2}).pass) << "the limit is included";
}

TEST(Compare, RelativeL2IsTheDistanceOverTheNorm) {
  EXPECT_EQ(by(Measure::relative_l2, 1, {3, 4}, {3, 4.5}).measured, 0.1);
  EXPECT_FALSE(by(Measure::relative_l2, 0.09, {3, 4}, {3, 4.5}).pass);
}

TEST(Compare, StepsAreUnitsInTheLastPlace) {
  const auto steps = [](double expected, double actual) {
    return compare_values({"t", "o", "bf16", ""}, std::vector{expected}, {std::vector{actual}}, {Measure::steps, 1})
        .measured;
  };
  EXPECT_EQ(steps(1.0, 1.0 + 0x1p-7), 1);
  EXPECT_EQ(steps(-1.0, -1.0 - 0x1p-8), 0.5);
  EXPECT_EQ(steps(4.0, 4.0 + 0x1p-4), 2);
  EXPECT_EQ(steps(kInfinity, 4.0), kInfinity);
  EXPECT_EQ(steps(4.0, kNaN), kInfinity);
  EXPECT_EQ(steps(-kInfinity, -kInfinity), 0);
}

TEST(Compare, ValuesThatAreNotFiniteMustBeTheSame) {
  EXPECT_TRUE(by(Measure::of_largest, 0, {kNaN, kInfinity, 1}, {kNaN, kInfinity, 1}).pass);
  EXPECT_EQ(by(Measure::of_largest, 0.1, {kNaN, 1}, {0, 1}).measured, kInfinity);
  EXPECT_EQ(by(Measure::of_largest, 0.1, {0, 1}, {kNaN, 1}).measured, kInfinity);
  EXPECT_FALSE(by(Measure::relative_l2, 0.1, {kInfinity, 1}, {-kInfinity, 1}).pass);
}

TEST(Compare, ZerosAreMetByZerosOnly) {
  EXPECT_TRUE(by(Measure::of_largest, 1e-12, {0, 0}, {0, 0}).pass);
  EXPECT_FALSE(by(Measure::of_largest, 1e-12, {0, 0}, {0, 1e-300}).pass);
}

TEST(Compare, RowsThatAreLeftOutCountNowhere) {
  const Check check = by(Measure::of_largest, 0, {1, 2, 3, 100}, {1, 2, 3, 7}, {true, false});
  EXPECT_TRUE(check.pass);
  EXPECT_EQ(check.compared, 2);
  const Check none = by(Measure::of_largest, 0, {1, 2}, {1, 2}, {false, false});
  EXPECT_EQ(none.compared, 0);
  EXPECT_FALSE(none.pass) << "nothing compared is no agreement";
}

TEST(Compare, ExactlyCountsWhatDiffersInSignsOfZeroToo) {
  const Check check =
      compare_exactly({"t", "", "", ""}, std::vector{1.0, 0.0, kNaN, 2.0}, std::vector{1.0, -0.0, kNaN, 3.0});
  EXPECT_EQ(check.measured, 2);
  EXPECT_FALSE(check.pass);
}

TEST(Compare, CodesAreEqualOrBothNaN) {
  const auto differing = [](unsigned expected, unsigned actual) {
    const std::vector<std::byte> a{std::byte(expected)}, b{std::byte(actual)};
    return compare_codes({"t", "", "", ""}, a, b, DType::f8_e5m2).measured;
  };
  EXPECT_EQ(differing(0x7E, 0xFF), 0) << "NaN codes";
  EXPECT_EQ(differing(0x7C, 0x7D), 1) << "infinity and NaN";
  EXPECT_EQ(differing(0x00, 0x80), 1) << "zeros of both signs";
}

TEST(Compare, ABoundIsKeptElementByElement) {
  const std::vector<double> expected{1, 10}, actual{1.5, 10.5};
  const auto measured = [&](const std::vector<double>& bound) {
    return compare_bounded({"t", "", "", "final"}, expected, {actual}, bound).measured;
  };
  EXPECT_EQ(measured({1, 1}), 0.5);
  EXPECT_EQ(measured({0.25, 1}), 2);
  EXPECT_EQ(measured({1, 0}), kInfinity);
  const Check half = compare_bounded({"t", "", "", "final"}, expected, {actual}, std::vector{1.0, kInfinity});
  EXPECT_EQ(half.compared, 1) << "an infinite bound claims nothing";
}

}  // namespace
}  // namespace moediff
