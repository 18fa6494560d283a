// Formats against what the hardware's own casts do (f32), and against values worked out by hand (bf16).
#include "harness/core/formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "harness/core/random.h"

namespace moediff {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool is_nan_code(unsigned code) { return (code & 0x7fff) > 0x7f80; }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST(Bf16, EveryCodeSurvivesTheWayToDoubleAndBack) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    const double value = double_from_bf16(static_cast<std::uint16_t>(code));
    const unsigned back = bf16_from_double(value);
    ASSERT_EQ(std::isnan(value), is_nan_code(code)) << std::hex << code;
    ASSERT_EQ(back, is_nan_code(code) ? code | 0x0040 : code) << std::hex << code;
  }
}

TEST(Bf16, DecodesKnownCodes) {
  EXPECT_EQ(double_from_bf16(0x3f80), 1.0);
  EXPECT_EQ(double_from_bf16(0xc049), -3.140625);
  EXPECT_EQ(double_from_bf16(0x7f7f), 255 * std::ldexp(1.0, 120));
  EXPECT_EQ(double_from_bf16(0x0001), std::ldexp(1.0, -133));
  EXPECT_EQ(double_from_bf16(0x0080), std::ldexp(1.0, -126));
  EXPECT_EQ(double_from_bf16(0xff80), -kInf);
}

TEST(Bf16, RoundsTheMiddleOfEveryPairToTheEvenCode) {
  for (unsigned code = 0; code < 0x7f7f; ++code) {
    const double low = double_from_bf16(static_cast<std::uint16_t>(code));
    const double high = double_from_bf16(static_cast<std::uint16_t>(code + 1));
    const double middle = (low + high) / 2;  // exact: one more bit
    const unsigned even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(bf16_from_double(middle), even) << std::hex << code;
    ASSERT_EQ(bf16_from_double(std::nextafter(middle, 0.0)), code) << std::hex << code;
    ASSERT_EQ(bf16_from_double(std::nextafter(middle, kInf)), code + 1) << std::hex << code;
    ASSERT_EQ(bf16_from_double(-middle), even | 0x8000) << std::hex << code;
  }
}

TEST(Bf16, DoesNotRoundTwice) {
  // By way of f32 this would become the tie 1 + 2^-8 and then 1; directly it is above the tie.
  const double value = 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  EXPECT_EQ(bf16_from_double(value), 0x3f81);
}

TEST(Bf16, OverflowsToInfinityFromTheMiddleOn) {
  const double middle = std::ldexp(511.0, 119);  // between 255 * 2^120 and the 256 * 2^120 that does not exist
  EXPECT_EQ(bf16_from_double(middle), 0x7f80);
  EXPECT_EQ(bf16_from_double(std::nextafter(middle, 0.0)), 0x7f7f);
  EXPECT_EQ(bf16_from_double(-1e300), 0xff80);
  EXPECT_EQ(bf16_from_double(kInf), 0x7f80);
}

TEST(Bf16, KeepsANanWhosePayloadIsBelowItsPrecision) {
  const double signalling = std::bit_cast<double>(0xfff0000000000001ull);
  EXPECT_EQ(bf16_from_double(signalling), 0xffc0);
}

TEST(Bf16, KeepsTheSignOfZeroAndOfWhatRoundsToZero) {
  EXPECT_EQ(bf16_from_double(-0.0), 0x8000);
  EXPECT_EQ(bf16_from_double(std::ldexp(-1.0, -134)), 0x8000);  // half the smallest: a tie, to even
  EXPECT_EQ(bf16_from_double(std::ldexp(-1.1, -134)), 0x8001);
  EXPECT_EQ(bf16_from_double(std::numeric_limits<double>::denorm_min()), 0x0000);
}

/// A double whose exponent covers f32's normals, subnormals, and what is too small or too large for it.
double wide_double(std::uint64_t index) {
  const std::uint64_t key = stream_key(1, "wide");
  const double significand = 1.0 + random_uniform(key, 2 * index);
  const int exponent = static_cast<int>(random_bits(key, 2 * index + 1) % 290) - 155;
  return std::ldexp(index % 2 == 0 ? significand : -significand, exponent);
}

TEST(F32, RoundsLikeTheMachinesConversion) {
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const double value = wide_double(i);
    ASSERT_EQ(bits(round_to(DType::f32, value)), bits(static_cast<double>(static_cast<float>(value)))) << value;
  }
}

TEST(F32, RoundsTiesOfNormalsAndSubnormalsLikeTheMachine) {
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const auto code = static_cast<std::uint32_t>(random_bits(7, i) & 0x7fffffff);
    const double low = std::bit_cast<float>(code), high = std::bit_cast<float>(code + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const double middle = (low + high) / 2;
    ASSERT_EQ(bits(round_to(DType::f32, middle)), bits(static_cast<double>(static_cast<float>(middle)))) << middle;
  }
}

TEST(RoundTo, LeavesSpecialValuesAlone) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    EXPECT_TRUE(std::isnan(round_to(dtype, std::nan(""))));
    EXPECT_EQ(round_to(dtype, -kInf), -kInf);
    EXPECT_EQ(bits(round_to(dtype, -0.0)), bits(-0.0));
  }
  EXPECT_EQ(round_to(DType::f64, 0.1), 0.1);
}

TEST(UnitRoundoff, IsHalfTheGapAboveOne) {
  EXPECT_EQ(unit_roundoff(DType::bf16), (double_from_bf16(0x3f81) - 1.0) / 2);
  EXPECT_EQ(unit_roundoff(DType::f32), std::numeric_limits<float>::epsilon() / 2.0);
  EXPECT_EQ(unit_roundoff(DType::f64), std::numeric_limits<double>::epsilon() / 2);
}

TEST(HalfSmallest, IsTheLargestValueThatRoundsToZero) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    EXPECT_EQ(round_to(dtype, half_smallest(dtype)), 0.0);
    EXPECT_GT(round_to(dtype, half_smallest(dtype) * 1.0001), 0.0);
  }
}

TEST(NextUp, WalksThroughEveryBf16ValueInOrder) {
  double value = -kInf;
  int steps = 0;
  for (; value < kInf; ++steps) {
    const double next = next_up(DType::bf16, value);
    ASSERT_GT(next, value);
    ASSERT_EQ(next_down(DType::bf16, next), value);
    value = next;
  }
  EXPECT_EQ(steps, 2 * 0x7f80);  // the two zeros are one value
}

TEST(NextUp, IsTheMachinesNeighbourForF32AndF64) {
  for (const float value : {0.0f, 1.0f, -1.0f, 3e38f, -1e-45f, 0.1f}) {
    EXPECT_EQ(next_up(DType::f32, value), std::nextafter(value, std::numeric_limits<float>::infinity()));
    EXPECT_EQ(next_down(DType::f32, value), std::nextafter(value, -std::numeric_limits<float>::infinity()));
  }
  EXPECT_EQ(next_up(DType::f64, 1.0), 1.0 + std::numeric_limits<double>::epsilon());
}

TEST(NextUp, StopsAtInfinityAndPassesNan) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    EXPECT_EQ(next_up(dtype, kInf), kInf);
    EXPECT_EQ(next_down(dtype, -kInf), -kInf);
    EXPECT_LT(next_down(dtype, kInf), kInf);
    EXPECT_TRUE(std::isnan(next_up(dtype, std::nan(""))));
  }
}

TEST(FormatsDeathTest, RefuseWhatHasNoAnswer) {
  EXPECT_DEATH(round_to(DType::i32, 1.5), "floating-point format");
  EXPECT_DEATH(next_up(DType::bf16, 0.1), "representable");
}

}  // namespace
}  // namespace moediff
