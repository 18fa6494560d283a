// Number formats of the kernels, seen through MD_OP_CONVERT: every code of every format, and every place where rounding
// decides, against the definitions and against tables that other people's code computed (tests/golden/data).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "harness/core/safetensors.h"
#include "tests/unit/kernels/ops/device.h"
#include "tests/unit/kernels/ops/formats_by_definition.h"

namespace moediff::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct GoldenName {
  md_dtype format;
  const char* name;
};
constexpr GoldenName kGolden[] = {{MD_F8_E4M3FN, "e4m3fn"},
                                  {MD_F8_E4M3FNUZ, "e4m3fnuz"},
                                  {MD_F8_E5M2, "e5m2"},
                                  {MD_F8_E5M2FNUZ, "e5m2fnuz"},
                                  {MD_F8_E8M0, "e8m0fnu"}};

std::vector<float> decoded(Device& device, md_dtype format, const std::vector<std::uint32_t>& codes) {
  const bool bytes = format != MD_BF16 && format != MD_F16;
  const std::vector<std::uint8_t> narrow(codes.begin(), codes.end());
  const std::vector<std::uint16_t> wide(codes.begin(), codes.end());
  const auto count = static_cast<std::int64_t>(codes.size());
  const md_tensor from =
      device.upload_bytes({count}, format, bytes ? static_cast<const void*>(narrow.data()) : wide.data());
  const md_tensor to = device.blank({count}, MD_F32);
  device.run(MD_OP_CONVERT, {from, to});
  return device.read_as<float>(to);
}

std::vector<std::uint32_t> encoded(Device& device, md_dtype format, const std::vector<float>& values, bool saturate) {
  const auto count = static_cast<std::int64_t>(values.size());
  const md_tensor from = device.upload_bytes({count}, MD_F32, values.data()), to = device.blank({count}, format);
  md_params params{};
  params.saturate = saturate ? 1 : 0;
  device.run(MD_OP_CONVERT, {from, to}, params);
  if (format == MD_BF16 || format == MD_F16) {
    const std::vector<std::uint16_t> codes = device.read_as<std::uint16_t>(to);
    return {codes.begin(), codes.end()};
  }
  const std::vector<std::uint8_t> codes = device.read_as<std::uint8_t>(to);
  return {codes.begin(), codes.end()};
}

std::vector<std::uint32_t> all_codes(std::uint32_t count) {
  std::vector<std::uint32_t> codes(count);
  for (std::uint32_t i = 0; i < count; ++i) codes[i] = i;
  return codes;
}

/// Each number of the format, each midpoint of neighbours (the one beyond the largest included), fp32's neighbours of
/// all of them, and specials; both signs.
std::vector<float> deciding_values(md_dtype format) {
  std::vector<double> numbers;
  for (std::uint32_t code = 0; code < code_count(format) / 2; ++code) {
    if (std::isfinite(value_of(format, code))) numbers.push_back(value_of(format, code));
  }
  numbers.push_back(2 * numbers.back() - numbers[numbers.size() - 2]);
  std::vector<float> values{0.0f, kInf, std::nanf(""), std::numeric_limits<float>::max(), 1e-45f, 1e-40f};
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    for (const double x : {numbers[i], (numbers[i - 1] + numbers[i]) / 2}) {
      const auto at = static_cast<float>(x);
      for (const float v : {std::nextafter(at, 0.0f), at, std::nextafter(at, kInf)}) values.push_back(v);
    }
  }
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

void expect_encoded_by_definition(Device& device, md_dtype format, const std::vector<float>& values, bool saturate) {
  const std::vector<std::uint32_t> actual = encoded(device, format, values, saturate);
  ASSERT_EQ(actual.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(value_of(format, actual[i]))) << "format " << format << " code " << actual[i];
    } else {
      ASSERT_EQ(actual[i], nearest_code(format, values[i], saturate))
          << "format " << format << " value " << values[i] << " saturate " << saturate;
    }
  }
}

class Formats : public ::testing::TestWithParam<md_dtype> {
 protected:
  Device device;
};
INSTANTIATE_TEST_SUITE_P(Narrow, Formats, ::testing::ValuesIn(kNarrowFormats));

TEST_P(Formats, EveryCodeReadsAsTheValueOfItsDefinition) {
  const std::vector<std::uint32_t> codes = all_codes(code_count(GetParam()));
  const std::vector<float> actual = decoded(device, GetParam(), codes);
  for (const std::uint32_t code : codes) ASSERT_TRUE(same(actual[code], value_of(GetParam(), code))) << "code " << code;
}

TEST_P(Formats, EveryNumberIsWrittenAsItsOwnCode) {
  const std::vector<std::uint32_t> codes = all_codes(code_count(GetParam()));
  const std::vector<std::uint32_t> again = encoded(device, GetParam(), decoded(device, GetParam(), codes), false);
  for (const std::uint32_t code : codes) {
    const bool nan = std::isnan(value_of(GetParam(), code));
    ASSERT_TRUE(nan ? std::isnan(value_of(GetParam(), again[code])) : again[code] == code) << "code " << code;
  }
}

TEST_P(Formats, NumbersMidpointsAndTheirNeighboursRoundToTheNearestCodeTiesToEven) {
  for (const bool saturate : {false, true})
    expect_encoded_by_definition(device, GetParam(), deciding_values(GetParam()), saturate);
}

TEST_P(Formats, RandomBitsOfFp32RoundToTheNearestCode) {
  std::mt19937 random(5);
  std::vector<float> values(20'000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Half of them with exponents where the format has numbers.
    const std::uint32_t bits = static_cast<std::uint32_t>(random());
    const std::uint32_t exponent = 127 - 28 + bits % 48;
    values[i] = std::bit_cast<float>(i % 2 == 0 ? bits : (bits & 0x807fffffu) | exponent << 23);
  }
  for (const bool saturate : {false, true}) expect_encoded_by_definition(device, GetParam(), values, saturate);
}

TEST(Format, DecodingAgreesWithTheTablesOfMlDtypes) {
  Device device;
  const SafetensorsFile file("tests/golden/data/fp8_decode.safetensors");
  int tables = 0;
  for (const auto& [format, name] : kGolden) {
    if (!file.contains(std::string("dec.") + name)) continue;
    const Tensor table = file.read(std::string("dec.") + name, {256});
    const std::vector<float> actual = decoded(device, format, all_codes(256));
    for (std::size_t code = 0; code < 256; ++code) {
      ASSERT_TRUE(same(actual[code], table.as<float>()[code])) << name << " code " << code;
    }
    ++tables;
  }
  EXPECT_EQ(tables, 4);
}

TEST(Format, EncodingAgreesWithMlDtypesSaturatingAndNot) {
  Device device;
  const SafetensorsFile file("tests/golden/data/fp8_encode.safetensors");
  const Tensor bits = file.read("in.f32_bits");
  std::vector<float> values;
  for (const std::int32_t b : bits.as<std::int32_t>()) values.push_back(std::bit_cast<float>(b));
  ASSERT_EQ(values.size(), 2732u);
  for (const auto& [format, name] : kGolden) {
    if (format == MD_F8_E8M0) continue;
    for (const bool saturate : {false, true}) {
      const Tensor table = file.read("enc." + std::string(name) + (saturate ? ".sat_ml_dtypes" : ".nonsat"));
      const std::vector<std::uint32_t> actual = encoded(device, format, values, saturate);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t expected = table.as<std::uint8_t>()[i];
        const bool both_nan = std::isnan(value_of(format, actual[i])) && std::isnan(value_of(format, expected));
        ASSERT_TRUE(both_nan || actual[i] == expected)
            << name << (saturate ? " saturating " : " ") << values[i] << ": " << actual[i] << ", " << expected;
      }
    }
  }
}

TEST(Format, E8M0IsThePowerOfTwoOfEachCode) {
  Device device;
  const std::vector<float> values = decoded(device, MD_F8_E8M0, all_codes(256));
  for (std::uint32_t code = 0; code < 256; ++code) {
    ASSERT_TRUE(same(values[code], value_of(MD_F8_E8M0, code))) << "code " << code;
  }
  const std::vector<std::uint32_t> again = encoded(device, MD_F8_E8M0, values, false);
  EXPECT_EQ(again, all_codes(256));
}

TEST(Format, E8M0RoundsToTheNearestPowerAndHasNoCodeForZeroOrNegatives) {
  Device device;
  const std::vector<float> values{3.0f,        std::nextafter(3.0f, 0.0f),
                                  1.5f,        0.75f,
                                  0.0f,        -1.0f,
                                  0x1.9p127f,  0x1.7p127f,
                                  kInf,        0x1p-149f,
                                  0x1.8p-127f, 0x1.9p-127f};
  // 3 lies between 2 (code 128) and 4 (129): even. 1.5: 127 or 128. 0.75: 126 or 127. 1.5 * 2^-127: codes 0 or 1.
  const std::vector<std::uint32_t> expected{128, 128, 128, 126, 255, 255, 255, 254, 255, 0, 0, 1};
  EXPECT_EQ(encoded(device, MD_F8_E8M0, values, false), expected);
  std::vector<std::uint32_t> saturated = expected;
  saturated[6] = 254;
  EXPECT_EQ(encoded(device, MD_F8_E8M0, values, true), saturated);
}

}  // namespace
}  // namespace moediff::test
