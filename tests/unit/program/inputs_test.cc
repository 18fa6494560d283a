#include "harness/program/inputs.h"

#include <gtest/gtest.h>

#include "harness/core/error.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

TEST(Inputs, AreAPureFunctionOfSeedAndName) {
  const Case spec = layer_case();
  EXPECT_EQ(hash(make_inputs(spec).tensors), hash(make_inputs(spec).tensors));
  Case other = spec;
  other.seed = 8;
  EXPECT_NE(hash(make_inputs(spec).tensors), hash(make_inputs(other).tensors));
}

TEST(Inputs, FewerTokensAreAPrefixOfMore) {
  Case five = layer_case(), two = layer_case();
  two.tokens = 2;
  const Inputs a = make_inputs(five).tensors, b = make_inputs(two).tensors;
  const Tensor prefix = slice_rows(a.at("hidden_states"), 0, 2);
  EXPECT_EQ(prefix.data, b.at("hidden_states").data);
  EXPECT_EQ(a.at("w13").data, b.at("w13").data);
}

TEST(Inputs, FusedWeightsHoldTheSharedExpertsBehindTheRoutedOnes) {
  Case spec = layer_case();
  spec.shape.n_shared = 2;
  const Inputs in = make_inputs(spec).tensors;
  const std::int64_t h = spec.shape.hidden, i = spec.shape.inter, e = spec.shape.experts;
  const auto fused13 = to_doubles(in.at("w13_fused")), shared13 = to_doubles(in.at("shared_w13"));
  const auto fused2 = to_doubles(in.at("w2_fused")), shared2 = to_doubles(in.at("shared_w2"));
  for (std::int64_t j = 0; j < 2; ++j) {
    for (std::int64_t r = 0; r < i; ++r) {
      for (std::int64_t c = 0; c < h; ++c) {
        const std::int64_t gate = ((e + j) * 2 * i + r) * h + c, up = ((e + j) * 2 * i + i + r) * h + c;
        EXPECT_EQ(fused13[gate], shared13[(j * i + r) * h + c]);
        EXPECT_EQ(fused13[up], shared13[(2 * i + j * i + r) * h + c]);
        EXPECT_EQ(fused2[((e + j) * h + c) * i + r], shared2[c * 2 * i + j * i + r]);
      }
    }
  }
  EXPECT_EQ(in.at("shared_ids").as<std::int32_t>()[1], e + 1);
}

TEST(Inputs, IntegersAreSmallAndExactInEveryDtype) {
  Case spec = layer_case();
  spec.input.distribution = Distribution::integers;
  for (const double value : to_doubles(make_inputs(spec).tensors.at("w13"))) {
    EXPECT_EQ(value, static_cast<int>(value));
    EXPECT_LE(std::abs(value), 6.0);
  }
}

TEST(Inputs, AMissingCaptureIsTheUsersMistake) {
  Case spec = layer_case();
  spec.input.kind = InputSource::Kind::capture;
  spec.input.capture = "no/such/file.safetensors";
  EXPECT_THROW(make_inputs(spec), UserError);
}

}  // namespace
}  // namespace moediff
