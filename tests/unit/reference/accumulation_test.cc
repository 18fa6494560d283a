// What the terms of an Accumulation are for: fp32 sums carried out as kernels/abi/moediff_abi.h describes them stay
// within the bounds that the terms give, and come close enough for these to mean something.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/api.h"
#include "tests/unit/reference/numbers.h"

namespace moediff::reference {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr std::int64_t kRows = 12, kN = 40, kK = 700;
constexpr float kA = 1.2345679f, kB = 0.0087654321f;  // scales of the two sides, and a routing weight
constexpr float kWeight = 0.3456789f;

struct Way {
  const char* name;
  Accumulation how;
  bool scaled;    ///< both sides have a scale
  bool weighted;  ///< a routing weight goes into the range's sum
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

/// One range in fp32 as the kernels do it.
float range_sum(const Way& way, const std::vector<float>& x, const std::vector<float>& w, std::int64_t begin,
                std::int64_t end) {
  float sum = 0;
  const std::int64_t block = way.how.block > 0 ? way.how.block : end - begin;
  for (std::int64_t at = begin; at < end; at += block) {
    float dot = 0;
    for (std::int64_t k = at; k < std::min(at + block, end); ++k) {
      dot = std::fma(x[static_cast<std::size_t>(k)], w[static_cast<std::size_t>(k)], dot);
    }
    if (way.how.block > 0) dot = dot * kA * kB;
    sum = at == begin ? dot : sum + dot;
  }
  if (way.how.integer) {
    std::int64_t exact = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      exact += static_cast<std::int64_t>(x[static_cast<std::size_t>(k)] * w[static_cast<std::size_t>(k)]);
    }
    sum = static_cast<float>(exact);
  }
  if (way.how.block > 0 || !way.scaled) return way.weighted ? sum * kWeight : sum;
  return (way.weighted ? sum * kWeight : sum) * kA * kB;
}

float fp32_dot(const Way& way, const std::vector<float>& x, const std::vector<float>& w) {
  const std::int64_t block = std::max<std::int64_t>(way.how.block, 1), splits = way.how.splits;
  const std::int64_t length = ((kK + splits - 1) / splits + block - 1) / block * block;
  float sum = 0;
  for (std::int64_t begin = 0; begin < kK; begin += length) {
    const float range = range_sum(way, x, w, begin, std::min(begin + length, kK));
    sum = begin == 0 ? range : sum + range;
  }
  return sum;
}

/// Elements of one side: fractions, or int8 codes.
std::vector<float> side(std::int64_t count, std::uint32_t seed, bool codes) {
  std::vector<float> out;
  for (const double x : numbers(count, seed)) out.push_back(static_cast<float>(codes ? std::nearbyint(127 * x) : x));
  return out;
}

std::vector<double> times(const std::vector<float>& values, double scale) {
  std::vector<double> out;
  for (const float value : values) out.push_back(value * scale);
  return out;
}

class Ways : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(All, Ways,
                         testing::Values(Way{"plain", {1}, false, false}, Way{"split", {4}, false, false},
                                         Way{"weighted", {3, 0, 0, 1}, false, true},
                                         Way{"blocks", {1, 128, 2, 0}, true, false},
                                         Way{"split_blocks", {2, 128, 2, 1}, true, true},
                                         Way{"channel", {1, 0, 0, 2}, true, false},
                                         Way{"integer", {2, 0, 0, 3, true}, true, true}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(Ways, StayWithinTheBoundsOfTheirTermsAndUseThem) {
  const Way& way = GetParam();
  const std::vector<float> x = side(kRows * kK, 11, way.how.integer), w = side(kN * kK, 12, way.how.integer);
  const double weight = way.weighted ? kWeight : 1.0;
  const Terms out =
      linear(times(x, way.scaled ? kA : 1), kRows, Matrix(times(w, way.scaled ? kB : 1), kN, kK), way.how);
  const double steps = static_cast<double>(out.steps) * kUnit;
  double squares = 0, largest = 0;
  for (std::size_t i = 0; i < out.value.size(); ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i) / kN * kK, column = static_cast<std::ptrdiff_t>(i) % kN * kK;
    const float actual =
        fp32_dot(way, {x.begin() + row, x.begin() + row + kK}, {w.begin() + column, w.begin() + column + kK});
    const double error = std::fabs(actual - weight * out.value[i]);
    EXPECT_LE(error, steps / (1 - steps) * weight * out.sum_abs[i]);
    const double used = error / (kUnit * weight * std::sqrt(out.sum_sq_partial[i]));
    squares += used * used;
    largest = std::max(largest, used);
  }
  // A rounding errs by at most u |result|, by about 0.4 u |result| in the mean square: between 0.1 and 0.8 there is
  // room for exact steps and for terms that were counted too often, not for forgotten ones.
  const double mean = std::sqrt(squares / static_cast<double>(out.value.size()));
  EXPECT_GT(mean, 0.1);
  EXPECT_LT(mean, 0.8);
  EXPECT_LT(largest, 5.0);
}

}  // namespace
}  // namespace moediff::reference
