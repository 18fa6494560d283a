// Inputs of quantised layers, distributions, and algebra mode.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/formats.h"
#include "harness/program/inputs.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

Case quantised(QuantScheme scheme) {
  Case spec = layer_case();
  spec.quant.scheme = scheme;
  spec.quant.group = 8;
  return spec;
}

TEST(QuantisedInputs, OfGfx942AreTheCheckpointsBytesWithoutMinusZeroAndDoubledScales) {
  Case fn = quantised(QuantScheme::fp8_block), fnuz = fn;
  fnuz.quant.fp8 = Fp8Kind::e4m3fnuz;
  const Inputs a = make_inputs(fn).tensors, b = make_inputs(fnuz).tensors;
  const auto from = a.at("w13").as<std::uint8_t>(), to = b.at("w13").as<std::uint8_t>();
  for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(to[i], from[i] == 0x80 ? 0 : from[i]);
  // The same real weights: half the code's value times twice the scale.
  EXPECT_EQ(to_doubles(b.at("w13_scales"))[0], 2 * to_doubles(a.at("w13_scales"))[0]);
  EXPECT_EQ(to_doubles(b.at("w13"))[0], to_doubles(a.at("w13"))[0] / 2);
}

TEST(QuantisedInputs, HaveTheSpreadOfTrainedWeights) {
  for (const QuantRow& scheme : kQuantSchemes) {
    if (scheme.weight == CodeFormat::none || scheme.weight == CodeFormat::int4 || scheme.weight == CodeFormat::fp4)
      continue;
    Case spec = quantised(scheme.scheme);
    spec.shape.hidden = 64;
    const Inputs in = make_inputs(spec).tensors;
    const std::vector<double> codes = to_doubles(in.at("w13")), scales = to_doubles(in.at("w13_scales"));
    double squares = 0;
    for (const double code : codes) {
      ASSERT_TRUE(std::isfinite(code));
      squares += code * code;
    }
    const double spread = std::sqrt(squares / static_cast<double>(codes.size())) * scales[0];
    EXPECT_GT(spread, 0.3 / 8) << scheme.name;
    EXPECT_LT(spread, 3.0 / 8) << scheme.name;
  }
}

TEST(QuantisedInputs, OfIntegersHavePowerOfTwoScales) {
  for (const QuantRow& scheme : kQuantSchemes) {
    if (scheme.weight_scales == WeightScales::none) continue;
    Case spec = quantised(scheme.scheme);
    spec.input.distribution = Distribution::integers;
    for (const double scale : to_doubles(make_inputs(spec).tensors.at("w13_scales"))) {
      EXPECT_EQ(std::exp2(std::round(std::log2(scale))), scale) << scheme.name;
    }
  }
}

TEST(QuantisedInputs, SymmetricOffsetsAreCarriedAsZeros) {
  for (const double offset : to_doubles(make_inputs(quantised(QuantScheme::int8_channel)).tensors.at("w13_offset")))
    EXPECT_EQ(offset, 0);
}

TEST(QuantisedInputs, FusedScalesFollowTheirRows) {
  Case spec = quantised(QuantScheme::fp8_channel);
  spec.shape.n_shared = 2;
  const Inputs in = make_inputs(spec).tensors;
  const std::int64_t i = spec.shape.inter, e = spec.shape.experts;
  const auto fused = to_doubles(in.at("w13_scales_fused")), shared = to_doubles(in.at("shared_w13_scales"));
  for (std::int64_t j = 0; j < 2; ++j) {
    for (std::int64_t r = 0; r < i; ++r) {
      EXPECT_EQ(fused[static_cast<std::size_t>((e + j) * 2 * i + r)], shared[static_cast<std::size_t>(j * i + r)]);
      EXPECT_EQ(fused[static_cast<std::size_t>((e + j) * 2 * i + i + r)],
                shared[static_cast<std::size_t>(2 * i + j * i + r)]);
    }
  }
}

TEST(Distributions, DoWhatTheirNamesSay) {
  const auto hidden = [](Distribution distribution, DType dtype) {
    Case spec = layer_case();
    spec.tokens = 64;
    spec.dtype = dtype;
    spec.input.distribution = distribution;
    return to_doubles(make_inputs(spec).tensors.at("hidden_states"));
  };
  const auto largest_of = [](const std::vector<double>& values) {
    return std::abs(
        *std::max_element(values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  };
  EXPECT_LT(largest_of(hidden(Distribution::normal, DType::bf16)), 6);
  EXPECT_GT(largest_of(hidden(Distribution::heavy_tailed, DType::bf16)), 20);
  EXPECT_GT(largest_of(hidden(Distribution::huge_range, DType::bf16)), 1e5);
  EXPECT_LT(std::pow(largest_of(hidden(Distribution::subnormal, DType::bf16)), 2), 0x1p-124);
  const std::vector<double> pairs = hidden(Distribution::cancelling, DType::bf16);
  EXPECT_EQ(pairs[4], pairs[5]);
  for (const Distribution d : {Distribution::heavy_tailed, Distribution::huge_range, Distribution::subnormal})
    EXPECT_LT(largest_of(hidden(d, DType::f16)), 65504 / 256) << to_string(d);
}

TEST(Distributions, NearTiesAreGateRowsThatDifferByAUnitOfTheLastPlace) {
  Case spec = layer_case();
  spec.input.distribution = Distribution::near_tie;
  const std::vector<double> gate = to_doubles(make_inputs(spec).tensors.at("gate_weight"));
  const auto h = static_cast<std::size_t>(spec.shape.hidden);
  int different = 0;
  for (std::size_t c = 0; c < h; ++c) {
    if (gate[c] == gate[h + c]) continue;
    ++different;
    EXPECT_NEAR(gate[h + c] / gate[c], 1, 0x1p-6);
  }
  EXPECT_EQ(different, 1);
}

TEST(AlgebraInputs, AreElementsOfTheFieldAndDistinctExperts) {
  Case spec = layer_case();
  spec.arithmetic = Arithmetic::field;
  const Inputs in = make_inputs(spec).tensors;
  constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
  for (const char* name : {"hidden_states", "w13", "w2", "topk_weights"}) {
    for (const std::uint64_t element : in.at(name).as<std::uint64_t>()) ASSERT_LT(element, kPrime) << name;
  }
  const auto ids = in.at("topk_ids").as<std::int32_t>();
  for (std::size_t t = 0; t < 5; ++t) {
    EXPECT_EQ((std::set<std::int32_t>(ids.begin() + static_cast<std::ptrdiff_t>(2 * t),
                                      ids.begin() + static_cast<std::ptrdiff_t>(2 * t + 2))
                   .size()),
              2u);
  }
  EXPECT_EQ(in.count("gate_weight"), 0u);
}

}  // namespace
}  // namespace moediff
