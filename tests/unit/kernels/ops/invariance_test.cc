// What the provider declares: deterministic and batch-invariant, bit for bit, in random numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::ElementsAreArray;

constexpr std::int64_t kHidden = 130, kInter = 70, kExperts = 6, kTopK = 2, kGroups = 2, kGroup = 64;

/// A layer's arithmetic: defaults, or policies that take other paths through the kernels.
struct Flavour {
  const char* name;
  md_dtype dtype;
  int split_k = 1;
  bool other_policies = false;  ///< softmax with fallback, gelu rounded once, weights on the input, a sum in the dtype
  bool fp8 = false;             ///< FP8_BLOCK throughout
};
constexpr Flavour kFlavours[] = {{"F32", MD_F32},
                                 {"F32Split", MD_F32, 3},
                                 {"Bf16", MD_BF16},
                                 {"Bf16Split", MD_BF16, 3},
                                 {"F16", MD_F16},
                                 {"Bf16OtherPolicies", MD_BF16, 1, true},
                                 {"F16OtherPolicies", MD_F16, 3, true},
                                 {"Bf16Fp8", MD_BF16, 3, false, true},
                                 {"F16Fp8OtherPolicies", MD_F16, 1, true, true}};

md_params params_of(const Flavour& flavour) {
  md_params params = routing(kTopK, kGroups, 1, true, 2.5f);
  params.split_k = flavour.split_k;
  if (flavour.other_policies) {
    params.scoring = MD_SCORING_SOFTMAX;
    params.group_score = MD_GROUP_MAX;
    params.scores_in = params.choice_in = MD_IN_MODEL;
    params.not_finite = MD_NOT_FINITE_UNIFORM;
    params.activation = MD_GELU;
    params.activation_rounding = MD_ROUND_ONCE;
    params.sum = MD_SUM_MOE_SUM;
  }
  if (flavour.fp8) {
    params.scheme = MD_SCHEME_FP8_BLOCK;
    params.group = kGroup;
    params.fmax = 448;
    params.amax_floor = 1e-10f;
    params.halves = 1;
  }
  return params;
}

/// A weight with the scales of its blocks, or in the model dtype.
struct Weight {
  md_tensor codes, scales = absent();
};

struct Layer {
  Flavour flavour;
  md_tensor gate, bias;
  Weight w13, w2, shared_w13, shared_w2;
};

/// Codes 0x20 to 0x3F and their negatives: e4m3fn numbers of moderate size.
Weight fp8_weight(Device& device, std::vector<std::int64_t> shape, std::int64_t scale_rows, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes;
  for (const double v : integers(shape, seed, 31).values) {
    bytes.push_back(static_cast<std::uint8_t>(v < 0 ? 0xA0 - v : 0x20 + v));
  }
  const md_tensor codes = device.upload_bytes(shape, MD_F8_E4M3FN, bytes.data());
  shape.end()[-1] = (shape.end()[-1] + kGroup - 1) / kGroup;
  shape.end()[-2] = scale_rows;
  Array scales = integers(shape, seed + 50, 4);
  for (double& v : scales.values) v = 0.05 * (v + 6);
  return {codes, device.upload(scales, MD_F32)};
}

Layer make_layer(Device& device, const Flavour& flavour) {
  const auto plain = [&](std::vector<std::int64_t> shape, std::uint64_t seed) {
    Array w = normals(std::move(shape), seed);
    for (double& v : w.values) v *= 0.1;
    return device.upload(w, flavour.dtype);
  };
  const auto weight = [&](std::vector<std::int64_t> shape, std::int64_t scale_rows, std::uint64_t seed) {
    return flavour.fp8 ? fp8_weight(device, std::move(shape), scale_rows, seed) : Weight{plain(std::move(shape), seed)};
  };
  return {flavour,
          plain({kExperts, kHidden}, 1),
          device.upload(normals({kExperts}, 2), MD_F32),
          weight({kExperts, 2 * kInter, kHidden}, 4, 3),
          weight({kExperts, kHidden, kInter}, 3, 4),
          weight({2 * kInter, kHidden}, 4, 5),
          weight({kHidden, kInter}, 3, 6)};
}

/// Issues the ops of one layer on a batch.
class LayerRun {
 public:
  LayerRun(Device& device, const Layer& layer, const md_tensor& hidden)
      : device_(device),
        layer_(layer),
        hidden_(hidden),
        params_(params_of(layer.flavour)),
        tokens_(hidden.shape[0]),
        rows_(tokens_ * kTopK) {}

  /// Bits of every output, in double (exact; NaN does not occur).
  std::vector<std::vector<double>> values() {
    const md_tensor routed = run_routed(), shared = run_shared();
    const md_tensor moe = x({tokens_, kHidden}), out = x({tokens_, kHidden});
    device_.run(MD_OP_SCALE_ADD, {routed, shared, moe}, params_);
    device_.run(MD_OP_RESIDUAL_ADD, {moe, hidden_, out}, params_);
    std::vector<std::vector<double>> all;
    for (const md_tensor& t : {logits_, ids_, weights_, routed, shared, moe, out})
      all.push_back(device_.read(t).values);
    return all;
  }

 private:
  md_tensor x(std::vector<std::int64_t> shape) { return device_.blank(shape, layer_.flavour.dtype); }
  md_tensor f32(std::vector<std::int64_t> shape) { return device_.blank(shape, MD_F32); }
  md_tensor i32(std::vector<std::int64_t> shape) { return device_.blank(shape, MD_I32); }

  /// Activations as a product takes them.
  Weight prepared(md_op quantize, const md_tensor& in) {
    if (!layer_.flavour.fp8) return {in};
    const std::int64_t rows = in.shape[0], columns = in.shape[1];
    const Weight out{device_.blank({rows, columns}, MD_F8_E4M3FN), f32({rows, (columns + kGroup - 1) / kGroup})};
    device_.run(quantize, {in, out.codes, out.scales}, params_);
    return out;
  }
  /// For products with w2, whose rows have no halves.
  md_params whole() const {
    md_params params = params_;
    params.halves = 0;
    return params;
  }

  md_tensor run_routed() {
    logits_ = f32({tokens_, kExperts}), ids_ = i32({tokens_, kTopK}), weights_ = f32({tokens_, kTopK});
    device_.run(MD_OP_ROUTER, {hidden_, layer_.gate, layer_.bias, logits_, ids_, weights_}, params_);
    const md_tensor offsets = i32({kExperts + 1}), slots = i32({rows_}), slot_rows = i32({rows_});
    device_.run(MD_OP_DISPATCH, {ids_, offsets, slots, slot_rows}, params_);
    md_tensor in = hidden_;
    if (layer_.flavour.other_policies) {
      md_tensor first = weights_;
      first.shape[1] = 1;
      in = x({tokens_, kHidden});
      device_.run(MD_OP_WEIGH_INPUT, {hidden_, first, in}, params_);
    }
    const Weight a1 = prepared(MD_OP_QUANTIZE_A1, in);
    const md_tensor h1 = x({rows_, 2 * kInter}), act = x({rows_, kInter}), h2 = x({rows_, kHidden}),
                    routed = x({tokens_, kHidden}), scratch = f32({layer_.flavour.split_k, rows_, 2 * kInter});
    device_.run(MD_OP_GEMM1,
                {a1.codes, slots, offsets, layer_.w13.codes, h1, scratch, a1.scales, layer_.w13.scales, absent()},
                params_);
    device_.run(MD_OP_ACTIVATION, {h1, act}, params_);
    const Weight a2 = prepared(MD_OP_QUANTIZE_A2, act);
    device_.run(MD_OP_GEMM2, {a2.codes, offsets, layer_.w2.codes, h2, absent(), absent(), a2.scales, layer_.w2.scales},
                whole());
    device_.run(MD_OP_COMBINE, {h2, slot_rows, weights_, routed}, params_);
    return routed;
  }

  md_tensor run_shared() {
    const Weight a1 = prepared(MD_OP_SHARED_QUANTIZE_A1, hidden_);
    const md_tensor h1 = x({tokens_, 2 * kInter}), act = x({tokens_, kInter}), out = x({tokens_, kHidden}),
                    scratch = f32({layer_.flavour.split_k, tokens_, 2 * kInter});
    device_.run(MD_OP_SHARED_GEMM1,
                {a1.codes, layer_.shared_w13.codes, h1, scratch, a1.scales, layer_.shared_w13.scales}, params_);
    device_.run(MD_OP_SHARED_ACTIVATION, {h1, act}, params_);
    const Weight a2 = prepared(MD_OP_SHARED_QUANTIZE_A2, act);
    device_.run(MD_OP_SHARED_GEMM2, {a2.codes, layer_.shared_w2.codes, out, a2.scales, layer_.shared_w2.scales},
                whole());
    return out;
  }

  Device& device_;
  const Layer& layer_;
  md_tensor hidden_;
  md_params params_;
  std::int64_t tokens_, rows_;
  md_tensor logits_{}, ids_{}, weights_{};
};

std::vector<std::vector<double>> run_layer(Device& device, const Layer& layer, const md_tensor& hidden) {
  return LayerRun(device, layer, hidden).values();
}

class Invariance : public ::testing::TestWithParam<Flavour> {
 protected:
  Device device;
  Layer layer = make_layer(device, GetParam());
  static constexpr std::int64_t kTokens = 75;
  md_tensor hidden = device.upload(normals({kTokens, kHidden}, 7), GetParam().dtype, 3);
  std::vector<std::vector<double>> whole = run_layer(device, layer, hidden);

  /// Rows [first, first + count) of a token-wise output of the whole batch.
  std::vector<double> rows_of_whole(std::size_t output, std::int64_t first, std::int64_t count) const {
    const auto columns = static_cast<std::int64_t>(whole[output].size()) / kTokens;
    return {whole[output].begin() + first * columns, whole[output].begin() + (first + count) * columns};
  }
};
INSTANTIATE_TEST_SUITE_P(Flavours, Invariance, ::testing::ValuesIn(kFlavours),
                         [](const auto& test) { return test.param.name; });

TEST_P(Invariance, TwoRunsGiveTheSameBits) {
  const auto again = run_layer(device, layer, hidden);
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_THAT(again[i], ElementsAreArray(whole[i])) << "output " << i;
}

TEST_P(Invariance, ARowAloneGivesTheBitsItGivesInABatch) {
  for (const std::int64_t row : {0, 31, 32, 74}) {
    const auto alone = run_layer(device, layer, rows_of(hidden, row, 1));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      ASSERT_THAT(alone[i], ElementsAreArray(rows_of_whole(i, row, 1))) << "row " << row << " output " << i;
    }
  }
}

TEST_P(Invariance, ChunksGiveTheBitsOfTheWholeBatch) {
  for (std::int64_t first = 0; first < kTokens; first += 32) {
    const std::int64_t count = std::min<std::int64_t>(32, kTokens - first);
    const auto chunk = run_layer(device, layer, rows_of(hidden, first, count));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      ASSERT_THAT(chunk[i], ElementsAreArray(rows_of_whole(i, first, count)))
          << "chunk at " << first << " output " << i;
    }
  }
}

TEST_P(Invariance, OutputsAreNotAllZeroAndFinite) {
  for (const std::vector<double>& values : whole) {
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](double v) { return v != 0; }));
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](double v) { return v - v == 0; }));
  }
}

TEST(Provider, DeclaresWhatTheseTestsShow) {
  Device device;
  EXPECT_EQ(device.provider().flags, MD_PROVIDER_DETERMINISTIC | MD_PROVIDER_BATCH_INVARIANT);
  EXPECT_STREQ(device.provider().name, "builtin");
  EXPECT_STREQ(device.provider().backend, "host");
}

}  // namespace
}  // namespace moediff::test
