// The conformance check itself, on providers that this test plays: a right one, and ones with a single flaw.
#include "harness/conformance/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "harness/conformance/expected_codes.h"
#include "harness/core/formats.h"

namespace moediff {
namespace {

/// Converts with the harness's own formats, which the reference does not share; `flaw` may change a result.
class Converter : public Executor {
 public:
  using Flaw = std::function<std::uint32_t(const Conversion&, std::uint32_t input, std::uint32_t result)>;
  explicit Converter(Flaw flaw = [](const Conversion&, std::uint32_t, std::uint32_t result) { return result; })
      : flaw_(std::move(flaw)) {}

  Run run(const RunRequest& request) override {
    const Step& step = request.program->steps.at(0);
    const Tensor& from = request.inputs->at("from");
    const DType to = step.operands.at(1).dtype;
    const bool encodes = from.dtype == DType::f32;
    const Conversion conversion{encodes ? to : from.dtype, encodes, step.params.saturate};
    const auto in = static_cast<std::size_t>(size_of(from.dtype)), out = static_cast<std::size_t>(size_of(to));
    Run run;
    run.capture.operands = {{from.data, std::vector<std::byte>(static_cast<std::size_t>(from.size()) * out)}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(from.size()); ++i) {
      std::uint32_t input = 0;
      std::memcpy(&input, from.data.data() + i * in, in);
      const std::uint32_t result = flaw_(conversion, input, convert(conversion, input));
      std::memcpy(run.capture.operands[0][1].data() + i * out, &result, out);
    }
    return run;
  }

 private:
  static std::uint32_t convert(const Conversion& c, std::uint32_t input) {
    if (!c.encode) return std::bit_cast<std::uint32_t>(static_cast<float>(decode(c.format, input)));
    const double value = std::bit_cast<float>(input), most = largest(c.format);
    return encode(c.format, c.saturate && std::isfinite(value) ? std::clamp(value, -most, most) : value);
  }
  Flaw flaw_;
};

class Refuser : public Executor {
 public:
  Run run(const RunRequest&) override {
    Run run;
    run.status = RunStatus::provider_error;
    run.detail = "no such op";
    return run;
  }
};

std::vector<ConversionResult> check(Converter&& converter) {
  return check_conversions(converter, {}, [](const ConversionResult&) {});
}

TEST(Conformance, ARightProviderIsRightEverywhere) {
  const std::vector<ConversionResult> results = check(Converter());
  EXPECT_EQ(results.size(), 19u) << "six formats both ways and saturating, and e8m0";
  for (const ConversionResult& result : results) {
    EXPECT_EQ(result.wrong, 0) << to_string(result.conversion);
    EXPECT_GT(result.checked, 255) << to_string(result.conversion);
  }
}

TEST(Conformance, OneWrongCodeOfOneFormatIsNamed) {
  const auto results = check(Converter([](const Conversion& c, std::uint32_t input, std::uint32_t result) {
    return !c.encode && c.format == DType::f8_e4m3fnuz && input == 0x80 ? 0x80000000u : result;
  }));
  for (const ConversionResult& result : results) {
    const bool flawed = result.conversion.format == DType::f8_e4m3fnuz && !result.conversion.encode;
    ASSERT_EQ(result.wrong, flawed ? 1 : 0) << to_string(result.conversion);
    if (flawed) {
      EXPECT_EQ(result.first->input, 0x80u);
    }
  }
}

TEST(Conformance, TiesThatGoAwayFromEvenAreSeen) {
  // 1.0625 lies half way between 1 and 1.125 in e4m3: to the even code of 1.
  const auto results = check(Converter([](const Conversion& c, std::uint32_t input, std::uint32_t result) {
    return c.encode && c.format == DType::f8_e4m3fn && input == std::bit_cast<std::uint32_t>(1.0625f) ? result + 1
                                                                                                      : result;
  }));
  for (const ConversionResult& result : results)
    EXPECT_EQ(result.wrong, result.conversion.encode && result.conversion.format == DType::f8_e4m3fn ? 1 : 0);
}

TEST(Conformance, AnyNaNIsANaNAndAZeroHasItsSign) {
  const auto results = check(Converter([](const Conversion& c, std::uint32_t input, std::uint32_t result) {
    if (!c.encode || c.format != DType::bf16) return result;
    return input == 0x80000000u ? 0u : (result & 0x7fff) > 0x7f80 ? 0x7fabu : result;
  }));
  for (const ConversionResult& result : results)
    EXPECT_EQ(result.wrong, result.conversion.encode && result.conversion.format == DType::bf16 ? 1 : 0);
}

TEST(Conformance, AFilterChoosesByName) {
  Converter converter;
  ConformanceOptions options;
  options.filter = "f32 to f8_e5m2";
  const auto results = check_conversions(converter, options, [](const ConversionResult&) {});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(to_string(results[0].conversion), "f32 to f8_e5m2");
}

TEST(Conformance, ARefusalIsNoVerdict) {
  Refuser refuses;
  for (const ConversionResult& result : check_conversions(refuses, {}, [](const ConversionResult&) {})) {
    EXPECT_EQ(result.checked, 0);
    EXPECT_EQ(result.refused, "no such op");
  }
}

TEST(CodeRuns, SayTheSameAsEncodingEveryFloat) {
  for (const Conversion& conversion : all_conversions()) {
    if (!conversion.encode) continue;
    // Round the largest values, zero, infinity, NaN, and both signs.
    for (const std::uint64_t begin : {0x00000000ull, 0x43dff000ull, 0x477f0000ull, 0x7f7ff000ull, 0x80000000ull - 2048,
                                      0xc3e80000ull - 2048, 0xffffffffull - 4095}) {
      std::uint64_t at = begin;
      for (const CodeRun& run : code_runs(conversion, begin, begin + 4096)) {
        ASSERT_EQ(run.begin, at);
        for (; at < run.end; ++at)
          ASSERT_EQ(expected_code(conversion, static_cast<std::uint32_t>(at)), run.code) << to_string(conversion);
      }
      ASSERT_EQ(at, begin + 4096);
    }
  }
}

TEST(InterestingFloats, HoldEveryMidpointOfTheFormat) {
  const std::vector<std::uint32_t> bits = interesting_floats(DType::f8_e5m2);
  const auto holds = [&](float value) {
    return std::binary_search(bits.begin(), bits.end(), std::bit_cast<std::uint32_t>(value));
  };
  EXPECT_TRUE(holds(1.125f)) << "between 1 and 1.25";
  EXPECT_TRUE(holds(-0x1p-17f)) << "half the smallest";
  EXPECT_TRUE(holds(61440.0f)) << "where overflow begins";
  EXPECT_TRUE(holds(std::nextafter(61440.0f, 0.0f)));
}

}  // namespace
}  // namespace moediff
