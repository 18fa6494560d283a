// What the provider declares: deterministic and batch-invariant, bit for bit, in random numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::ElementsAreArray;

constexpr std::int64_t kHidden = 130, kInter = 70, kExperts = 6, kTopK = 2, kGroups = 2;

struct Layer {
  md_tensor gate, bias, w13, w2, shared_w13, shared_w2;
  md_dtype dtype;
  int split_k;
};

Layer make_layer(Device& device, md_dtype dtype, int split_k) {
  const auto weights = [&](std::vector<std::int64_t> shape, std::uint64_t seed) {
    Array w = normals(std::move(shape), seed);
    for (double& v : w.values) v *= 0.1;
    return device.upload(w, dtype);
  };
  return {weights({kExperts, kHidden}, 1),
          device.upload(normals({kExperts}, 2), MD_F32),
          weights({kExperts, 2 * kInter, kHidden}, 3),
          weights({kExperts, kHidden, kInter}, 4),
          weights({2 * kInter, kHidden}, 5),
          weights({kHidden, kInter}, 6),
          dtype,
          split_k};
}

/// Bits of every output of a layer, in double (exact; NaN does not occur).
std::vector<std::vector<double>> run_layer(Device& device, const Layer& layer, const md_tensor& hidden) {
  const std::int64_t tokens = hidden.shape[0], rows = tokens * kTopK;
  const md_dtype x = layer.dtype;
  const md_params params{kTopK, kGroups, 1, 1, layer.split_k, 2.5f};
  const auto out = [&](std::vector<std::int64_t> shape, md_dtype dtype) { return device.blank(shape, dtype); };
  const md_tensor logits = out({tokens, kExperts}, MD_F32), ids = out({tokens, kTopK}, MD_I32),
                  weights = out({tokens, kTopK}, MD_F32);
  const md_tensor offsets = out({kExperts + 1}, MD_I32), slots = out({rows}, MD_I32), slot_rows = out({rows}, MD_I32);
  const md_tensor h1 = out({rows, 2 * kInter}, x), act = out({rows, kInter}, x), h2 = out({rows, kHidden}, x),
                  routed = out({tokens, kHidden}, x);
  const md_tensor s1 = out({tokens, 2 * kInter}, x), sact = out({tokens, kInter}, x),
                  shared = out({tokens, kHidden}, x);
  const md_tensor moe = out({tokens, kHidden}, x), layer_out = out({tokens, kHidden}, x);
  const md_tensor scratch = out({layer.split_k, rows, 2 * kInter}, MD_F32),
                  shared_scratch = out({layer.split_k, tokens, 2 * kInter}, MD_F32);
  device.run(MD_OP_ROUTER, {hidden, layer.gate, layer.bias, logits, ids, weights}, params);
  device.run(MD_OP_DISPATCH, {ids, offsets, slots, slot_rows}, params);
  device.run(MD_OP_GEMM1, {hidden, slots, offsets, layer.w13, h1, scratch}, params);
  device.run(MD_OP_ACTIVATION, {h1, act}, params);
  device.run(MD_OP_GEMM2, {act, offsets, layer.w2, h2}, params);
  device.run(MD_OP_COMBINE, {h2, slot_rows, weights, routed}, params);
  device.run(MD_OP_SHARED_GEMM1, {hidden, layer.shared_w13, s1, shared_scratch}, params);
  device.run(MD_OP_SHARED_ACTIVATION, {s1, sact}, params);
  device.run(MD_OP_SHARED_GEMM2, {sact, layer.shared_w2, shared}, params);
  device.run(MD_OP_SCALE_ADD, {routed, shared, moe}, params);
  device.run(MD_OP_RESIDUAL_ADD, {moe, hidden, layer_out}, params);
  std::vector<std::vector<double>> values;
  for (const md_tensor& t : {logits, ids, weights, routed, shared, moe, layer_out})
    values.push_back(device.read(t).values);
  return values;
}

class Invariance : public ::testing::TestWithParam<std::tuple<md_dtype, int>> {
 protected:
  Device device;
  Layer layer = make_layer(device, std::get<0>(GetParam()), std::get<1>(GetParam()));
  static constexpr std::int64_t kTokens = 75;
  md_tensor hidden = device.upload(normals({kTokens, kHidden}, 7), layer.dtype, 3);
  std::vector<std::vector<double>> whole = run_layer(device, layer, hidden);

  /// Rows [first, first + count) of a token-wise output of the whole batch.
  std::vector<double> rows_of_whole(std::size_t output, std::int64_t first, std::int64_t count) const {
    const auto columns = static_cast<std::int64_t>(whole[output].size()) / kTokens;
    return {whole[output].begin() + first * columns, whole[output].begin() + (first + count) * columns};
  }
};
INSTANTIATE_TEST_SUITE_P(DtypesAndSplits, Invariance,
                         ::testing::Combine(::testing::Values(MD_F32, MD_BF16), ::testing::Values(1, 3)));

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
