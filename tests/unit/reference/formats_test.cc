// Number formats against tables made by other people's code, against the compiler's own conversions, and by hand.
#include "reference/formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/reference/golden_file.h"
#include "tests/unit/reference/numbers.h"

namespace moediff::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Equal, with the sign of zero; or both NaN.
testing::AssertionResult same(double actual, double expected) {
  if (std::isnan(actual) && std::isnan(expected)) return testing::AssertionSuccess();
  if (actual == expected && std::signbit(actual) == std::signbit(expected)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << actual << ", not " << expected;
}

struct Narrow {
  DType dtype;
  const char* name;  ///< in the golden files
};
constexpr Narrow kNarrow[]{{DType::f8_e4m3fn, "e4m3fn"},
                           {DType::f8_e4m3fnuz, "e4m3fnuz"},
                           {DType::f8_e5m2, "e5m2"},
                           {DType::f8_e5m2fnuz, "e5m2fnuz"},
                           {DType::f8_e8m0, "e8m0fnu"}};

TEST(Decode, GivesThePublishedValueOfEveryByte) {
  const GoldenFile file("fp8_decode");
  int tables = 0;
  for (const auto& [dtype, name] : kNarrow) {
    if (!file.contains(std::string("dec.") + name)) continue;
    const std::vector<double> expected = file.doubles(std::string("dec.") + name);
    for (std::uint32_t code = 0; code < 256; ++code)
      EXPECT_TRUE(same(decode(dtype, code), expected[code])) << name << " " << code;
    ++tables;
  }
  EXPECT_EQ(tables, 4);  // e5m2fnuz is not among them
}

TEST(Decode, OfE5m2fnuzHalvesE5m2AndKeepsGoingWhereThatEnds) {
  for (std::uint32_t code = 0; code < 0x7C; ++code) {
    EXPECT_EQ(decode(DType::f8_e5m2fnuz, code), decode(DType::f8_e5m2, code) / 2) << code;
  }
  EXPECT_EQ(decode(DType::f8_e5m2fnuz, 0x7C), 32768);
  EXPECT_EQ(decode(DType::f8_e5m2fnuz, 0x7F), 57344);
  EXPECT_EQ(decode(DType::f8_e5m2fnuz, 0xFF), -57344);
  EXPECT_TRUE(std::isnan(decode(DType::f8_e5m2fnuz, 0x80)));
}

TEST(Decode, OfF16AndBf16AgreesWithTheCompilerOnEveryCode) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const auto half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(code));
    ASSERT_TRUE(same(decode(DType::f16, code), static_cast<double>(half))) << code;
    ASSERT_TRUE(same(decode(DType::bf16, code), std::bit_cast<float>(code << 16))) << code;
  }
}

TEST(Decode, RefusesWhatIsNoCode) {
  EXPECT_THROW(decode(DType::f8_e4m3fn, 256), std::logic_error);
  EXPECT_THROW(decode(DType::f8_e8m0, 256), std::logic_error);
  EXPECT_THROW(decode(DType::bf16, 0x10000), std::logic_error);
  EXPECT_THROW(decode(DType::i32, 0), std::logic_error);
  EXPECT_THROW(encode(DType::f8_e8m0, 1.0), std::logic_error);
}

struct Convention {
  Overflow overflow;
  const char* name;
};
constexpr Convention kConventions[]{{Overflow::special, "nonsat"},
                                    {Overflow::special, "nonsat_torch"},
                                    {Overflow::saturate_finite, "sat_ml_dtypes"},
                                    {Overflow::saturate, "sat_onnx"}};

TEST(Encode, AgreesWithMlDtypesTorchAndOnnxOnEveryMidpointNeighbourAndThreshold) {
  const GoldenFile file("fp8_encode");
  const std::vector<double> inputs = file.doubles("in.f32");
  int compared = 0;
  for (const auto& [dtype, name] : kNarrow) {
    for (const auto& [overflow, convention] : kConventions) {
      const std::string tensor = std::string("enc.") + name + "." + convention;
      if (!file.contains(tensor)) continue;
      const std::vector<std::byte> expected = file.bytes(tensor);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::uint32_t actual = encode(dtype, inputs[i], overflow);
        const auto code = std::to_integer<std::uint32_t>(expected[i]);
        const bool both_nan = std::isnan(decode(dtype, actual)) && std::isnan(decode(dtype, code));
        ASSERT_TRUE(actual == code || both_nan) << tensor << " of " << inputs[i] << ": " << actual << ", not " << code;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 16 * 2732);
}

/// Inputs that decide every rounding of f16: all values, all midpoints, and their neighbours in double.
std::vector<double> hard_inputs_of_f16() {
  std::vector<double> out;
  for (std::uint16_t code = 0; code < 0x7BFF; ++code) {
    const double low = static_cast<double>(std::bit_cast<_Float16>(code));
    const double high = static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(code + 1)));
    const double middle = (low + high) / 2;
    for (const double x : {low, middle, std::nextafter(middle, 0.0), std::nextafter(middle, kInf)}) out.push_back(x);
  }
  for (const double x : {65504.0, 65519.999, 65520.0, 65520.001, 1e300, kInf, 0x1p-25, 0x1.8p-25, 5e-324})
    out.push_back(x);
  return out;
}

TEST(Encode, OfF16AgreesWithTheCompilerOnEveryMidpoint) {
  for (const double x : hard_inputs_of_f16()) {
    for (const double value : {x, -x}) {
      const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
      ASSERT_EQ(encode(DType::f16, value), expected) << value;
    }
  }
}

TEST(Encode, OfBf16TakesTheNearestAndTheEvenOneBetween) {
  for (std::uint32_t code = 0; code < 0x7F7F; ++code) {
    const double low = std::bit_cast<float>(code << 16), high = std::bit_cast<float>((code + 1) << 16);
    const double middle = (low + high) / 2;
    const std::uint32_t even = code + code % 2;
    ASSERT_EQ(encode(DType::bf16, low), code);
    ASSERT_EQ(encode(DType::bf16, middle), even);
    ASSERT_EQ(encode(DType::bf16, std::nextafter(middle, 0.0)), code);
    ASSERT_EQ(encode(DType::bf16, -std::nextafter(middle, kInf)), (code + 1) | 0x8000);
  }
  EXPECT_EQ(encode(DType::bf16, 0x1.FFp127), 0x7F80u);                       // midpoint to 2^128: infinity
  EXPECT_EQ(encode(DType::bf16, std::nextafter(0x1.FFp127, 0.0)), 0x7F7Fu);  // below it: the largest
  EXPECT_EQ(encode(DType::bf16, 1e300, Overflow::saturate_finite), 0x7F7Fu);
  EXPECT_EQ(encode(DType::bf16, -kInf, Overflow::saturate_finite), 0xFF80u);
  EXPECT_EQ(encode(DType::bf16, -kInf, Overflow::saturate), 0xFF7Fu);
}

TEST(Encode, HasNoNegativeZeroInFnuz) {
  EXPECT_EQ(encode(DType::f8_e4m3fn, -0.0), 0x80u);
  EXPECT_EQ(encode(DType::f8_e4m3fn, -1e-9), 0x80u);
  for (const DType dtype : {DType::f8_e4m3fnuz, DType::f8_e5m2fnuz}) {
    EXPECT_EQ(encode(dtype, -0.0), 0u);
    EXPECT_EQ(encode(dtype, -1e-9), 0u);
    EXPECT_EQ(encode(dtype, kNan), 0x80u);
    EXPECT_EQ(encode(dtype, -1e9), 0x80u);
  }
}

TEST(RoundTo, OfF32AgreesWithTheProcessor) {
  std::vector<double> inputs{0.0,      0x1.FFFFFEp127, 0x1.FFFFFEFFFFFFp127, 0x1.FFFFFFp127,  1e300,  kInf, 0x1p-149,
                             0x1p-150, 0x1.8p-150,     0x1.000001p-126,      0x1.FFFFFFp-127, 5e-324, kNan};
  for (const double x : numbers(2000, 5)) {
    for (const int exponent : {0, -30, 100, -128, -140, -149}) inputs.push_back(std::ldexp(x * 1.23456789, exponent));
  }
  for (const double x : inputs) {
    for (const double value : {x, -x})
      ASSERT_TRUE(same(round_to(DType::f32, value), static_cast<float>(value))) << value;
  }
}

TEST(RoundTo, SaturatesF32WhenAsked) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  EXPECT_EQ(round_to(DType::f32, -1e300, Overflow::saturate_finite), -kLargest);
  EXPECT_EQ(round_to(DType::f32, kInf, Overflow::saturate_finite), kInf);
  EXPECT_EQ(round_to(DType::f32, kInf, Overflow::saturate), kLargest);
}

TEST(RoundTo, IsTheIdentityOnF64AndOnValuesOfTheFormat) {
  EXPECT_EQ(round_to(DType::f64, 0.1), 0.1);
  for (const auto& [dtype, name] : kNarrow) {
    for (std::uint32_t code = 0; code < 256 && dtype != DType::f8_e8m0; ++code) {
      EXPECT_TRUE(same(round_to(dtype, decode(dtype, code)), decode(dtype, code))) << name << " " << code;
    }
  }
}

}  // namespace
}  // namespace moediff::reference
