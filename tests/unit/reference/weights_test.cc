// Stored weights: which scale belongs to which element, what codes stand for, and how they are made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/api.h"
#include "reference/formats.h"
#include "tests/unit/reference/golden_file.h"
#include "tests/unit/reference/numbers.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

QuantSpec spec_of(QuantScheme scheme, std::int64_t group = 128) {
  QuantSpec spec;
  spec.scheme = scheme;
  spec.group = group;
  return spec;
}

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

/// Values of a stored matrix whose scales are 1, 2, 3, … and whose int8 or fp8 codes are all 1.
std::vector<double> scale_numbers(const QuantSpec& spec, std::int64_t n, std::int64_t k, std::int64_t sn,
                                  std::int64_t sk, bool halves) {
  const int one = row(spec.scheme).weight == CodeFormat::fp8 ? static_cast<int>(encode(DType::f8_e4m3fn, 1.0)) : 1;
  const std::vector<std::byte> codes(static_cast<std::size_t>(n * k), static_cast<std::byte>(one));
  std::vector<double> scales;
  for (std::int64_t i = 1; i <= sn * sk; ++i) scales.push_back(static_cast<double>(i));
  return weight_values({n, k, codes, scales, sn, sk}, spec, halves, DType::bf16);
}

TEST(WeightValues, TakeTheScaleOfTheirBlockShortOnesAtTheEnds) {
  EXPECT_THAT(scale_numbers(spec_of(QuantScheme::fp8_block, 2), 5, 3, 3, 2, false),
              ElementsAreArray({1, 1, 2, 1, 1, 2, 3, 3, 4, 3, 3, 4, 5, 5, 6}));
}

TEST(WeightValues, CutEachHalfIntoBlocksOfItsOwn) {
  // Halves of 3 rows: blocks of rows 0-1, 2 | 3-4, 5.
  EXPECT_THAT(scale_numbers(spec_of(QuantScheme::fp8_block, 2), 6, 2, 4, 1, true),
              ElementsAreArray({1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4}));
  EXPECT_THAT(scale_numbers(spec_of(QuantScheme::fp8_block, 2), 6, 2, 3, 1, false),
              ElementsAreArray({1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
}

TEST(WeightValues, TakeTheScaleOfTheirTensorOrChannelHalvesOrNot) {
  for (const bool halves : {false, true}) {
    EXPECT_THAT(scale_numbers(spec_of(QuantScheme::fp8_tensor), 2, 2, 1, 1, halves), ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(scale_numbers(spec_of(QuantScheme::fp8_channel), 2, 2, 2, 1, halves), ElementsAre(1, 1, 2, 2));
    EXPECT_THAT(scale_numbers(spec_of(QuantScheme::int8_channel), 2, 2, 2, 1, halves), ElementsAre(1, 1, 2, 2));
  }
}

TEST(WeightValues, ReadInt8AsTwosComplement) {
  const std::vector<std::byte> codes = bytes({0x80, 0xFF, 0, 0x7F});
  const std::vector<double> scales{0.5};
  EXPECT_THAT(weight_values({1, 4, codes, scales, 1, 1}, spec_of(QuantScheme::int8_channel), false, DType::bf16),
              ElementsAre(-64, -0.5, 0, 63.5));
}

TEST(WeightValues, ReadInt4WithTheEvenElementInTheLowNibble) {
  const std::vector<std::byte> codes = bytes({0xF0, 0x8, 0x97, 0x1});  // 0 15 8 | 7 9 1
  const std::vector<double> scales{1, 10, 100, 1000};
  EXPECT_THAT(weight_values({2, 3, codes, scales, 2, 2}, spec_of(QuantScheme::int4_group, 2), true, DType::f32),
              ElementsAre(-8, 7, 0, -100, 100, -7000));
}

TEST(WeightValues, OfInt4AreRoundedToTheModelDtype) {
  const std::vector<std::byte> codes = bytes({0x0F});  // 15: 7
  const std::vector<double> scales{1.0078125};         // 7 * (1 + 2^-7) = 7.0546875; spacing of bf16 there 2^-5
  const QuantSpec spec = spec_of(QuantScheme::int4_group, 32);
  EXPECT_THAT(weight_values({1, 1, codes, scales, 1, 1}, spec, false, DType::bf16), ElementsAre(7.0625));
  EXPECT_THAT(weight_values({1, 1, codes, scales, 1, 1}, spec, false, DType::f16), ElementsAre(7.0546875));
}

TEST(WeightValues, ReadTheSixteenValuesOfE2m1) {
  const std::vector<std::byte> codes = bytes({0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE});
  const std::vector<double> scales{4};
  EXPECT_THAT(weight_values({1, 16, codes, scales, 1, 1}, spec_of(QuantScheme::mxfp4), false, DType::bf16),
              ElementsAre(0, 2, 4, 6, 8, 12, 16, 24, 0, -2, -4, -6, -8, -12, -16, -24));
}

TEST(WeightValues, OfMxfp4ShareAScaleByThirtyTwoWhateverTheGroup) {
  const std::vector<std::byte> codes(17, std::byte{0x22});  // all 1
  const std::vector<double> scales{2, 8};
  const std::vector<double> out =
      weight_values({1, 33, codes, scales, 1, 2}, spec_of(QuantScheme::mxfp4, 128), false, DType::bf16);
  EXPECT_EQ(out[31], 2);
  EXPECT_EQ(out[32], 8);
}

TEST(WeightValues, RefuseScalesOfAnotherShape) {
  const std::vector<std::byte> codes(4);
  const std::vector<double> scales(2);
  EXPECT_THROW(weight_values({2, 2, codes, scales, 1, 2}, spec_of(QuantScheme::fp8_channel), false, DType::bf16),
               std::logic_error);
  EXPECT_THROW(weight_values({2, 2, codes, scales, 2, 1}, spec_of(QuantScheme::none), false, DType::bf16),
               std::logic_error);
  EXPECT_THROW(weight_values({2, 3, codes, scales, 2, 1}, spec_of(QuantScheme::fp8_channel), false, DType::bf16),
               std::logic_error);
}

class WeightFiles : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Golden, WeightFiles,
                         testing::Values("fp8_weight_quant_01_192x160", "fp8_weight_quant_03_130x128"));

TEST_P(WeightFiles, AgreeWithVllmsQuantisationAndDeepSeeksDequantisation) {
  const GoldenFile file(GetParam());
  const std::int64_t n = file.shape("w")[0], k = file.shape("w")[1];
  QuantSpec spec = spec_of(QuantScheme::fp8_block);
  spec.amax_floor = 1e-4;
  spec.scale_by = ScaleBy::reciprocal;
  for (const ScaleKind kind : {ScaleKind::fp32, ScaleKind::ue8m0}) {
    spec.scales = kind;
    const std::string side = kind == ScaleKind::ue8m0 ? "vllm_ue8m0" : "vllm";
    const QuantisedWeight out = quantise_weight(file.doubles("w"), n, k, spec, false, DType::f32);
    EXPECT_EQ(out.codes, file.bytes(side + ".q"));
    EXPECT_EQ(out.scales, file.doubles(side + ".weight_scale_inv"));
    EXPECT_EQ((Shape{out.sn, out.sk}), file.shape(side + ".weight_scale_inv"));
  }
  const std::vector<std::byte> codes = file.bytes("vllm.q");
  const std::vector<double> scales = file.doubles("vllm.weight_scale_inv");
  const Shape shape = file.shape("vllm.weight_scale_inv");
  std::vector<double> values = weight_values({n, k, codes, scales, shape[0], shape[1]}, spec, false, DType::f32);
  for (double& value : values) value = round_to(DType::f32, value);
  EXPECT_EQ(values, file.doubles("vllm.ds_weight_dequant_f32"));
}

TEST(QuantiseWeight, ForFnuzHardwareChangesTheBytesMeaningNotTheValues) {
  QuantSpec fn = spec_of(QuantScheme::fp8_block, 4), fnuz = fn;
  fnuz.fp8 = Fp8Kind::e4m3fnuz;
  fnuz.fmax = 224;  // of activations: the checkpoint's largest code stays 448
  std::vector<double> weight = numbers(64, 3);
  weight[5] = -0.0;
  weight[6] = -1e-12;
  const QuantisedWeight checkpoint = quantise_weight(weight, 8, 8, fn, false, DType::bf16);
  const QuantisedWeight loaded = quantise_weight(weight, 8, 8, fnuz, false, DType::bf16);
  EXPECT_EQ(checkpoint.codes[5], std::byte{0x80});
  EXPECT_EQ(loaded.codes[5], std::byte{0});
  EXPECT_EQ(loaded.codes[6], std::byte{0});
  EXPECT_EQ(loaded.codes[7], checkpoint.codes[7]);
  EXPECT_EQ(loaded.scales[0], 2 * checkpoint.scales[0]);
  EXPECT_EQ(weight_values({8, 8, loaded.codes, loaded.scales, 2, 2}, fnuz, false, DType::bf16),
            weight_values({8, 8, checkpoint.codes, checkpoint.scales, 2, 2}, fn, false, DType::bf16));
}

TEST(QuantiseWeight, CutsHalvesForGateAndUp) {
  const std::vector<double> weight{448, 1, 896, 224, 112, 56};  // one column, halves of 3, blocks of 2
  const QuantisedWeight out = quantise_weight(weight, 6, 1, spec_of(QuantScheme::fp8_block, 2), true, DType::bf16);
  EXPECT_EQ(out.sn, 4);
  EXPECT_EQ(out.sk, 1);
  EXPECT_THAT(out.scales, ElementsAre(1, 2, 0.5, 0.125));
}

TEST(QuantiseWeight, RoundsOnlyBlockScalesUpToPowersOfTwo) {
  const auto scale = [](QuantScheme scheme) {
    QuantSpec spec = spec_of(scheme);
    spec.scales = ScaleKind::ue8m0;
    return quantise_weight(std::vector<double>{672}, 1, 1, spec, false, DType::bf16).scales[0];
  };
  EXPECT_EQ(scale(QuantScheme::fp8_block), 2);
  EXPECT_EQ(scale(QuantScheme::fp8_channel), 1.5);
  EXPECT_EQ(scale(QuantScheme::fp8_tensor), 1.5);
}

TEST(QuantiseWeight, OfInt8UsesThe127OfEachRow) {
  const std::vector<double> weight{127, -1, 2.5, -254, 2, 3};
  const QuantisedWeight out = quantise_weight(weight, 2, 3, spec_of(QuantScheme::int8_channel), false, DType::bf16);
  EXPECT_THAT(out.scales, ElementsAre(1, 2));
  EXPECT_EQ(out.codes, bytes({127, 0xFF, 2, 0x81, 1, 2}));
}

TEST(QuantiseWeight, OfInt4SpreadsTheRangeFromMinusEightToSeven) {
  // scale = amax / 7.5; 15 and -15 have codes 7 (clamped) and -8 (the even one of -7.5's neighbours), 4 and -2 2 and
  // -1.
  const std::vector<double> weight{15, 4, -15, -2, 0};
  const QuantisedWeight out = quantise_weight(weight, 1, 5, spec_of(QuantScheme::int4_group, 2), false, DType::bf16);
  EXPECT_THAT(out.scales, ElementsAre(2, 2, 0));
  EXPECT_EQ(out.codes, bytes({0xAF, 0x70, 0x08}));
}

TEST(QuantiseWeight, OfInt4KeepsScalesInTheModelDtype) {
  const std::vector<double> weight{1};
  const QuantSpec spec = spec_of(QuantScheme::int4_group, 32);
  EXPECT_THAT(quantise_weight(weight, 1, 1, spec, false, DType::bf16).scales, ElementsAre(0x1.12p-3));  // 1 / 7.5
  EXPECT_THAT(quantise_weight(weight, 1, 1, spec, false, DType::f16).scales, ElementsAre(0x1.11p-3));
}

TEST(QuantiseWeight, OfMxfp4TakesThePowerOfTwoTwoBelowTheLargest) {
  // 24 = 1.5 * 2^4: scale 2^2. 24 -> 6, 10 -> 2.5 -> 2 (even), 14 -> 3.5 -> 4 (even), 3 -> 0.75 -> 1 (even), -1 -> 0.
  const std::vector<double> weight{24, 10, 14, 3, -1};
  const QuantisedWeight out = quantise_weight(weight, 1, 5, spec_of(QuantScheme::mxfp4), false, DType::bf16);
  EXPECT_THAT(out.scales, ElementsAre(4));
  EXPECT_EQ(out.codes, bytes({0x47, 0x26, 0x08}));
}

TEST(QuantiseWeight, OfMxfp4SaturatesAndStaysInTheRangeOfE8m0) {
  const QuantSpec spec = spec_of(QuantScheme::mxfp4);
  const QuantisedWeight out = quantise_weight(std::vector<double>{31}, 1, 1, spec, false, DType::bf16);
  EXPECT_THAT(out.scales, ElementsAre(4));
  EXPECT_EQ(out.codes, bytes({0x07}));  // 7.75 is beyond 6
  EXPECT_THAT(quantise_weight(std::vector<double>{0}, 1, 1, spec, false, DType::f32).scales, ElementsAre(0x1p-127));
  EXPECT_THAT(quantise_weight(std::vector<double>{0x1p-140}, 1, 1, spec, false, DType::f32).scales,
              ElementsAre(0x1p-127));
}

TEST(QuantiseWeight, LosesAtMostHalfAStep) {
  const std::vector<double> weight = numbers(64 * 70, 9);
  for (const QuantRow& scheme : kQuantSchemes) {
    if (scheme.weight_scales == WeightScales::none) continue;
    const QuantSpec spec = spec_of(scheme.scheme, 32);
    const QuantisedWeight stored = quantise_weight(weight, 64, 70, spec, true, DType::bf16);
    const std::vector<double> values =
        weight_values({64, 70, stored.codes, stored.scales, stored.sn, stored.sk}, spec, true, DType::bf16);
    // Steps at magnitude 1, scale 1 / fmax: fp8 1/28 relative, int8 1/127, int4 1/7.5 (and clamped), fp4 1/3 or
    // clamped.
    const bool packed = scheme.weight == CodeFormat::int4 || scheme.weight == CodeFormat::fp4;
    const double step = packed ? 0.26 : scheme.weight == CodeFormat::fp8 ? 0.036 : 0.0045;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      ASSERT_NEAR(values[i], weight[i], step) << scheme.name << " " << i;
    }
  }
}

TEST(QuantiseWeight, RefusesWhatHasNoCode) {
  EXPECT_THROW(
      quantise_weight(std::vector<double>{std::nan("")}, 1, 1, spec_of(QuantScheme::fp8_tensor), false, DType::bf16),
      std::logic_error);
  EXPECT_THROW(quantise_weight(std::vector<double>(3), 3, 1, spec_of(QuantScheme::fp8_block), true, DType::bf16),
               std::logic_error);
}

class GemmFiles : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Golden, GemmFiles, testing::Values("fp8_block_gemm_01", "fp8_block_gemm_03_m1"));

TEST_P(GemmFiles, AgreeWithVllmInDoubleAndBoundItAndDeepSeekInFloat) {
  const GoldenFile file(GetParam());
  const std::int64_t m = file.number("M", 0), n = file.number("N", 0), k = file.number("K", 0);
  const QuantSpec spec = spec_of(QuantScheme::fp8_block);
  std::vector<double> x = file.doubles("a.q");
  const std::vector<double> x_scales = spread_scales(file.doubles("a.scale"), m, k, scale_groups(spec));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= x_scales[i];
  const std::vector<std::byte> codes = file.bytes("b.q");
  const std::vector<double> scales = file.doubles("b.weight_scale_inv");
  const Shape shape = file.shape("b.weight_scale_inv");
  const Matrix weight(weight_values({n, k, codes, scales, shape[0], shape[1]}, spec, false, DType::f32), n, k);
  const Terms out = linear(x, m, weight, {1, spec.group, 2, 0});

  const std::vector<double> exact = file.doubles("vllm.block_matmul_f64");
  ASSERT_EQ(out.value.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(out.value[i], exact[i], 1e-13 * out.sum_abs[i]);
    for (const char* side : {"ds.fp8_gemm_f32", "vllm.block_matmul_f32"}) {
      EXPECT_NEAR(out.value[i], file.doubles(side)[i], 0x1p-24 * 6 * std::sqrt(out.sum_sq_partial[i])) << side;
    }
  }
}

}  // namespace
}  // namespace moediff::reference
