// Random streams: reproducible for good, and distributed as they say.
#include "harness/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace moediff {
namespace {

TEST(RandomBits, AreTheSplitmix64Sequence) {
  // The first outputs of the published generator for the states 0 and 1234567.
  EXPECT_EQ(random_bits(0, 0), 0xe220a8397b1dcdafull);
  EXPECT_EQ(random_bits(0, 1), 0x6e789e6aa1b965f4ull);
  EXPECT_EQ(random_bits(1234567, 0), 6457827717110365317ull);
  EXPECT_EQ(random_bits(1234567, 1), 3203168211198807973ull);
}

TEST(StreamKey, DiffersWithSeedAndName) {
  EXPECT_NE(stream_key(1, "x"), stream_key(2, "x"));
  EXPECT_NE(stream_key(1, "x"), stream_key(1, "y"));
  EXPECT_EQ(stream_key(1, "x"), stream_key(1, "x"));
}

std::vector<double> sample(double (*draw)(std::uint64_t, std::uint64_t), std::uint64_t n) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < n; ++i) values.push_back(draw(stream_key(3, "sample"), i));
  return values;
}
double moment(const std::vector<double>& values, int power) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

TEST(RandomUniform, FillsTheUnitInterval) {
  const std::vector<double> values = sample(random_uniform, 100000);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0.0);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1.0);
  EXPECT_NEAR(moment(values, 1), 0.5, 5 * 0.289 / std::sqrt(1e5));  // five standard errors
  EXPECT_NEAR(moment(values, 2), 1.0 / 3, 5 * 0.298 / std::sqrt(1e5));
}

TEST(RandomNormal, HasTheMomentsOfAStandardNormal) {
  const std::vector<double> values = sample(random_normal, 100000);
  EXPECT_NEAR(moment(values, 1), 0.0, 5 * 1.0 / std::sqrt(1e5));
  EXPECT_NEAR(moment(values, 2), 1.0, 5 * std::sqrt(2.0 / 1e5));
  EXPECT_NEAR(moment(values, 4), 3.0, 5 * std::sqrt(96.0 / 1e5));
}

TEST(RandomNormal, IsIndependentOfItsNeighbour) {
  const std::vector<double> values = sample(random_normal, 100000);
  double products = 0, squares = 0;  // squares also show a shared radius or angle, which leaves no correlation
  for (std::size_t i = 1; i < values.size(); ++i) {
    products += values[i] * values[i - 1];
    squares += (values[i] * values[i] - 1) * (values[i - 1] * values[i - 1] - 1);
  }
  EXPECT_NEAR(products / 1e5, 0.0, 5 / std::sqrt(1e5));
  EXPECT_NEAR(squares / 1e5, 0.0, 5 * 2 / std::sqrt(1e5));
}

}  // namespace
}  // namespace moediff
