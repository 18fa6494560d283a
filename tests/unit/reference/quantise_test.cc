// Quantisation of activations against vLLM's and DeepSeek's own results and against numbers by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/api.h"
#include "reference/formats.h"
#include "tests/unit/reference/golden_file.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;

QuantSpec spec_of(QuantScheme scheme, double fmax) {
  QuantSpec spec;
  spec.scheme = scheme;
  spec.fmax = fmax;
  return spec;
}

/// Quantises tensor x of the file and compares scales and bytes.
void expect_agrees(const GoldenFile& file, const QuantSpec& spec, const std::string& codes, const std::string& scales) {
  const Shape shape = file.shape("x");
  const Quantised out = quantise(file.doubles("x"), shape[0], shape[1], spec);
  EXPECT_EQ(out.scale, file.doubles(scales)) << scales;
  std::vector<std::byte> bytes;
  for (const double code : out.code) bytes.push_back(static_cast<std::byte>(encode(spec.fp8_dtype(), code)));
  EXPECT_EQ(bytes, file.bytes(codes)) << codes;
}

class GroupFiles : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Golden, GroupFiles, testing::Values("fp8_act_quant_01", "fp8_act_quant_03_g64"));

TEST_P(GroupFiles, AgreeWithVllmAndDeepSeekToTheByte) {
  const GoldenFile file(GetParam());
  QuantSpec spec = spec_of(QuantScheme::fp8_block, 448);
  spec.group = file.number("group_size", 0);
  for (const ScaleKind kind : {ScaleKind::fp32, ScaleKind::ue8m0}) {
    const std::string suffix = kind == ScaleKind::ue8m0 ? "_ue8m0" : "";
    spec.scales = kind;
    spec.amax_floor = 1e-10;
    expect_agrees(file, spec, "vllm" + suffix + ".q", "vllm" + suffix + ".scale");
    spec.amax_floor = 1e-4;
    if (file.contains("ds.q")) expect_agrees(file, spec, "ds" + suffix + ".q", "ds" + suffix + ".scale");
  }
}

struct TokenFile {
  const char* name;
  Fp8Kind fp8;
  double fmax;
};
class TokenFiles : public testing::TestWithParam<TokenFile> {};
INSTANTIATE_TEST_SUITE_P(Golden, TokenFiles,
                         testing::Values(TokenFile{"fp8_per_token_01_e4m3fn", Fp8Kind::e4m3fn, 448},
                                         TokenFile{"fp8_per_token_02_e4m3fnuz", Fp8Kind::e4m3fnuz, 224}),
                         [](const auto& file) { return std::string(file.param.name); });

TEST_P(TokenFiles, AgreeWithVllmToTheByte) {
  const auto [name, fp8, fmax] = GetParam();
  const GoldenFile file(name);
  QuantSpec token = spec_of(QuantScheme::fp8_channel, fmax), tensor = spec_of(QuantScheme::fp8_tensor, fmax);
  token.fp8 = tensor.fp8 = fp8;
  token.amax_floor = 1.0 / 512;  // vLLM: no scale below 1 / (fmax * 512)
  tensor.scale_by = ScaleBy::reciprocal;
  expect_agrees(file, token, "per_token.q_u8", "per_token.scale");
  expect_agrees(file, tensor, "per_tensor.q_u8", "per_tensor.scale");
}

TEST(LargestMagnitudes, AreTakenByGroupTokenOrTensor) {
  const std::vector<double> x{1, -5, 2, 3, 0, 0.5, -7, 1, 2, -1};
  EXPECT_THAT(largest_magnitudes(x, 2, 5, {2, false}), ElementsAre(5, 3, 0, 7, 2, 1));  // the last group is short
  EXPECT_THAT(largest_magnitudes(x, 2, 5, {0, false}), ElementsAre(5, 7));
  EXPECT_THAT(largest_magnitudes(x, 2, 5, {0, true}), ElementsAre(7));
  EXPECT_THAT(largest_magnitudes({}, 0, 5, {0, true}), ElementsAre(0));
  EXPECT_THROW(largest_magnitudes(x, 3, 5, {}), std::logic_error);
}

TEST(LargestMagnitudes, OfAGroupWithNanIsNanAndInfinityStays) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> x{1, std::nan(""), 9, 1, -kInf, 2, 3, 4};
  const std::vector<double> out = largest_magnitudes(x, 2, 4, {2, false});
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 9);
  EXPECT_EQ(out[2], kInf);
  EXPECT_EQ(out[3], 4);
}

TEST(SpreadScales, GiveEachElementItsScale) {
  EXPECT_THAT(spread_scales(std::vector<double>{1, 2, 3, 4}, 2, 3, {2, false}), ElementsAre(1, 1, 2, 3, 3, 4));
  EXPECT_THAT(spread_scales(std::vector<double>{1, 2}, 2, 3, {}), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(spread_scales(std::vector<double>{9}, 1, 3, {0, true}), ElementsAre(9, 9, 9));
  EXPECT_THROW(spread_scales(std::vector<double>{1, 2}, 2, 3, {2, false}), std::logic_error);
}

TEST(ScaleGroupsOf, FollowTheScheme) {
  QuantSpec spec = spec_of(QuantScheme::fp8_block, 448);
  spec.group = 64;
  EXPECT_EQ(scale_groups(spec).group, 64);
  EXPECT_EQ(scale_groups(spec_of(QuantScheme::int8_channel, 127)).group, 0);
  EXPECT_FALSE(scale_groups(spec_of(QuantScheme::int8_channel, 127)).whole);
  EXPECT_TRUE(scale_groups(spec_of(QuantScheme::fp8_tensor, 448)).whole);
  EXPECT_THROW(scale_groups(spec_of(QuantScheme::int4_group, 7)), std::logic_error);
}

/// The scale of one token whose largest magnitude is `amax`.
double scale_of(double amax, const QuantSpec& spec) { return quantise(std::vector<double>{amax}, 1, 1, spec).scale[0]; }

TEST(Quantise, DividesByTheMaximumOrMultipliesByItsReciprocal) {
  QuantSpec spec = spec_of(QuantScheme::fp8_channel, 448);
  EXPECT_EQ(scale_of(21, spec), 0x1.8p-5);
  EXPECT_EQ(scale_of(3, spec), 0x1.b6db6ep-8);
  spec.scale_from = ScaleFrom::reciprocal;
  EXPECT_EQ(scale_of(21, spec), 0x1.800002p-5);  // 1 / 448 is rounded up
  EXPECT_EQ(scale_of(3, spec), 0x1.b6db7p-8);
}

TEST(Quantise, RoundsScalesUpToPowersOfTwoAndLeavesPowersAlone) {
  QuantSpec spec = spec_of(QuantScheme::fp8_channel, 448);
  spec.scales = ScaleKind::ue8m0;
  EXPECT_EQ(scale_of(448, spec), 1);
  EXPECT_EQ(scale_of(std::nextafter(448.0f, 1e9f), spec), 2);
  EXPECT_EQ(scale_of(std::nextafter(448.0f, 0.0f), spec), 1);
  EXPECT_EQ(scale_of(7, spec), 0x1p-6);
}

/// The int8 code of x in a token whose largest magnitude is amax.
double int8_code(double x, double amax, ScaleBy by) {
  QuantSpec spec = spec_of(QuantScheme::int8_channel, 127);
  spec.scale_by = by;
  return quantise(std::vector<double>{x, amax}, 1, 2, spec).code[0];
}

TEST(Quantise, DividesMultipliesByTheReciprocalOrTakesTheRatio) {
  // 63.5 but for the roundings of each way; found with exact rationals.
  EXPECT_EQ(int8_code(6.5, 13, ScaleBy::division), 63);
  EXPECT_EQ(int8_code(6.5, 13, ScaleBy::reciprocal), 64);
  EXPECT_EQ(int8_code(6.5, 13, ScaleBy::ratio), 64);
  EXPECT_EQ(int8_code(5.5, 11, ScaleBy::division), 63);
  EXPECT_EQ(int8_code(5.5, 11, ScaleBy::reciprocal), 63);
  EXPECT_EQ(int8_code(5.5, 11, ScaleBy::ratio), 64);
  EXPECT_EQ(int8_code(7.5, 15, ScaleBy::division), 64);
  EXPECT_EQ(int8_code(7.5, 15, ScaleBy::reciprocal), 63);
  EXPECT_EQ(int8_code(7.5, 15, ScaleBy::ratio), 63);
}

TEST(Quantise, RoundsHalvesOfInt8ToEvenOrAway) {
  const std::vector<double> x{127, 0.5, 1.5, 2.5, -0.5, -2.5, 0.49, -127};
  QuantSpec spec = spec_of(QuantScheme::int8_channel, 127);
  EXPECT_THAT(quantise(x, 1, 8, spec).code, ElementsAre(127, 0, 2, 2, 0, -2, 0, -127));
  spec.half_to = HalfTo::away;
  EXPECT_THAT(quantise(x, 1, 8, spec).code, ElementsAre(127, 1, 2, 3, -1, -3, 0, -127));
}

TEST(Quantise, ClampsToTheMaximumThatItIsTold) {
  QuantSpec spec = spec_of(QuantScheme::fp8_channel, 224);
  spec.fp8 = Fp8Kind::e4m3fnuz;
  spec.scales = ScaleKind::ue8m0;
  spec.scale_by = ScaleBy::ratio;  // makes no use of the scale, so 224 may come out a little above
  const Quantised out = quantise(std::vector<double>{300, -300, 1}, 1, 3, spec);
  EXPECT_THAT(out.scale, ElementsAre(2));
  EXPECT_THAT(out.code, ElementsAre(224, -224, 0.75));  // 224 / 300 = 0.7467, spacing 1/16
}

TEST(Quantise, ClampsWhatAnInexactSubnormalScaleWouldPushBeyondTheFormat) {
  // 600 / 448 is rounded to 1 in units of the smallest subnormal, so that x / s is 600.
  QuantSpec spec = spec_of(QuantScheme::fp8_channel, 448);
  spec.amax_floor = 0;
  const Quantised out = quantise(std::vector<double>{600 * 0x1p-149, -600 * 0x1p-149, 100 * 0x1p-149}, 1, 3, spec);
  EXPECT_THAT(out.scale, ElementsAre(0x1p-149));
  EXPECT_THAT(out.code, ElementsAre(448, -448, 96));  // 100 is between 96 and 104, 96 the even one
}

TEST(Quantise, OfZerosGivesTheFloorsScaleOrZero) {
  QuantSpec spec = spec_of(QuantScheme::fp8_channel, 448);
  const std::vector<double> zeros(3);
  EXPECT_THAT(quantise(zeros, 1, 3, spec).scale, ElementsAre(static_cast<double>(1e-10f / 448)));
  spec.amax_floor = 0;
  for (const ScaleBy by : {ScaleBy::division, ScaleBy::reciprocal, ScaleBy::ratio}) {
    spec.scale_by = by;
    EXPECT_THAT(quantise(zeros, 1, 3, spec).scale, ElementsAre(0));
    EXPECT_THAT(quantise(zeros, 1, 3, spec).code, ElementsAre(0, 0, 0));
  }
}

TEST(Quantise, KeepsNanWithinItsGroup) {
  const std::vector<double> x{1, std::nan(""), 448, 2};
  QuantSpec spec = spec_of(QuantScheme::fp8_block, 448);
  spec.group = 2;
  const Quantised out = quantise(x, 1, 4, spec);
  EXPECT_TRUE(std::isnan(out.scale[0]) && std::isnan(out.code[0]) && std::isnan(out.code[1]));
  EXPECT_EQ(out.scale[1], 1);
  EXPECT_EQ(out.code[3], 2);
}

TEST(Quantise, RefusesAMaximumThatIsNotResolved) {
  EXPECT_THROW(quantise(std::vector<double>{1}, 1, 1, spec_of(QuantScheme::fp8_channel, 0)), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
