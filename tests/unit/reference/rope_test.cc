// Rotary embedding and YaRN, with numbers worked out by hand from the papers' formulas.
#include "reference/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace moediff::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

/// theta^(-2i / dim), here powers of 10.
const Rope kPlain{8, 10000, RopeLayout::interleaved, std::nullopt};

/// factor e^10, so that m(s) = s + 1.
Rope with_mscales(double mscale, double mscale_all_dim, YarnMagnitude magnitude) {
  Rope rope = kPlain;
  rope.yarn = Yarn{std::exp(10.0), 16, 32, 1, mscale, mscale_all_dim, magnitude, 0};
  return rope;
}

TEST(Rope, FrequenciesFallGeometrically) {
  EXPECT_THAT(rope_frequencies(kPlain), Pointwise(DoubleNear(1e-16), {1.0, 0.1, 0.01, 0.001}));
  EXPECT_THROW(rope_frequencies({3}), std::logic_error);
}

TEST(Rope, AQuarterTurnSwapsTheElementsOfAPair) {
  const RopeTable quarter{{0, 0}, {1, 1}};
  std::vector<double> neighbours{1, 2, 3, 4}, halves = neighbours;
  rotate(neighbours, quarter, 0, RopeLayout::interleaved);
  EXPECT_THAT(neighbours, ElementsAre(-2, 1, -4, 3));
  rotate(halves, quarter, 0, RopeLayout::halves);
  EXPECT_THAT(halves, ElementsAre(-3, -4, 1, 2));
}

TEST(Rope, TheTableTurnsByPositionTimesFrequency) {
  const RopeTable table = rope_table(kPlain, 3, 2);
  EXPECT_EQ(table.cos.size(), 8u);
  EXPECT_DOUBLE_EQ(table.cos[1], std::cos(0.3));
  EXPECT_DOUBLE_EQ(table.sin[4 + 2], std::sin(0.04));
}

TEST(Rope, ProductsDependOnTheDistanceOnly) {
  const std::vector<double> query{0.3, -1.2, 0.7, 2.0, -0.4, 0.9, 1.1, -0.6};
  const auto product = [&](std::int64_t q_position, std::int64_t k_position) {
    std::vector<double> q = query, k(query.rbegin(), query.rend());
    rotate(q, rope_table(kPlain, q_position, 1), 0, kPlain.layout);
    rotate(k, rope_table(kPlain, k_position, 1), 0, kPlain.layout);
    double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i) sum += q[i] * k[i];
    return sum;
  };
  EXPECT_NEAR(product(9, 4), product(105, 100), 1e-13);
  EXPECT_GT(std::abs(product(9, 4) - product(9, 5)), 0.01);
}

// 16 positions are less than three turns of the first pair, and less than one of the second: 8 ln(16 / 2 pi) / (2 ln
// 10^4) = 0.41, rounded up to 1.
TEST(Yarn, SlowPairsAreDividedByTheFactor) {
  Rope rope = kPlain;
  rope.yarn = Yarn{4, 16};
  EXPECT_THAT(rope_frequencies(rope), Pointwise(DoubleNear(1e-16), {1.0, 0.1 / 4, 0.01 / 4, 0.001 / 4}));
}

// DeepSeek-V3: 64 ln(4096 / 64 pi) / (2 ln 10^4) = 10.5 and 64 ln(4096 / 2 pi) / (2 ln 10^4) = 22.5, so pairs up to 10
// keep their frequency, from 23 on it is divided, and between the two it is blended in 13 steps.
TEST(Yarn, PairsBetweenFastAndSlowAreBlended) {
  const Rope plain{64, 10000, RopeLayout::interleaved, std::nullopt};
  Rope rope = plain;
  rope.yarn = Yarn{40, 4096};
  const std::vector<double> own = rope_frequencies(plain), yarn = rope_frequencies(rope);
  EXPECT_DOUBLE_EQ(yarn[10], own[10]);
  EXPECT_DOUBLE_EQ(yarn[16], own[16] * (7.0 / 13 + 6.0 / 13 / 40));
  EXPECT_DOUBLE_EQ(yarn[23], own[23] / 40);
}

TEST(Yarn, TheMagnitudeIsTheRatioOfTheMscalesOrNothingByPolicy) {
  EXPECT_DOUBLE_EQ(rope_magnitude(with_mscales(1, 3, YarnMagnitude::ratio)), 0.5);
  EXPECT_DOUBLE_EQ(rope_magnitude(with_mscales(1, 3, YarnMagnitude::one)), 1);
  EXPECT_DOUBLE_EQ(rope_magnitude(with_mscales(3, 3, YarnMagnitude::ratio)), 1);
  EXPECT_DOUBLE_EQ(rope_magnitude(with_mscales(0, 0, YarnMagnitude::ratio)), 2) << "m(1)";
  EXPECT_DOUBLE_EQ(rope_magnitude(kPlain), 1);
  Rope stated = with_mscales(1, 3, YarnMagnitude::ratio);
  stated.yarn->attention_factor = 1.25;
  EXPECT_DOUBLE_EQ(rope_magnitude(stated), 1.25);
  EXPECT_DOUBLE_EQ(rope_table(with_mscales(1, 3, YarnMagnitude::ratio), 0, 1).cos[0], 0.5);
}

TEST(Yarn, TheSoftmaxScaleTakesTheSquareOfMscaleAllDim) {
  EXPECT_DOUBLE_EQ(softmax_scale(4, kPlain), 0.5);
  EXPECT_DOUBLE_EQ(softmax_scale(4, with_mscales(1, 3, YarnMagnitude::ratio)), 0.5 * 16);
  EXPECT_DOUBLE_EQ(softmax_scale(4, with_mscales(1, 3, YarnMagnitude::one)), 0.5 * 16);
  EXPECT_DOUBLE_EQ(softmax_scale(4, with_mscales(1, 0, YarnMagnitude::ratio)), 0.5) << "not stated";
}

}  // namespace
}  // namespace moediff::reference
