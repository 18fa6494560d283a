// Variations of a batch: the same tokens, otherwise placed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/program/input_parts.h"
#include "harness/program/plan.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

Case varied(Variation variation) {
  Case spec = layer_case();
  spec.variation = variation;
  return spec;
}

std::vector<std::byte> row_of(const Inputs& inputs, std::int64_t row) {
  return slice_rows(inputs.at("hidden_states"), row, row + 1).data;
}

TEST(Vary, APermutationMovesWholeTokens) {
  const Case spec = varied(Variation::permuted);
  const Inputs plain = make_inputs(layer_case()).tensors, moved = make_inputs(spec).tensors;
  const std::vector<std::int64_t> order = permutation(spec);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  for (std::int64_t t = 0; t < spec.tokens; ++t)
    EXPECT_EQ(row_of(moved, t), row_of(plain, order[static_cast<std::size_t>(t)]));
  EXPECT_EQ(moved.at("w13").data, plain.at("w13").data);
}

TEST(Vary, ASplitKeepsTheFirstHalf) {
  const Inputs plain = make_inputs(layer_case()).tensors, half = make_inputs(varied(Variation::split)).tensors;
  EXPECT_EQ(half.at("hidden_states").shape[0], 3);
  EXPECT_EQ(row_of(half, 2), row_of(plain, 2));
  EXPECT_EQ(half.at("shared_ids").shape[0], 3);
}

TEST(Vary, PaddingComesBehindTheTokens) {
  const Inputs plain = make_inputs(layer_case()).tensors, padded = make_inputs(varied(Variation::padded_nan)).tensors;
  EXPECT_EQ(padded.at("hidden_states").shape[0], 5 + kPaddingRows);
  EXPECT_EQ(row_of(padded, 4), row_of(plain, 4));
  EXPECT_TRUE(std::isnan(to_doubles(padded.at("hidden_states")).back()));
  EXPECT_EQ(to_doubles(make_inputs(varied(Variation::padded_large)).tensors.at("hidden_states")).back(), 9984)
      << "1e4 in bf16";
  EXPECT_EQ(to_doubles(make_inputs(varied(Variation::padded_zero)).tensors.at("hidden_states")).back(), 0);
}

TEST(Vary, AShiftMovesAllLogitsOfATokenAlike) {
  Case plain = layer_case();
  plain.dtype = DType::f32;
  plain.input.distribution = Distribution::integers;
  Case shifted = plain;
  shifted.variation = Variation::shifted;
  const std::vector<double> a = to_doubles(make_inputs(plain).tensors.at("gate_weight")),
                            b = to_doubles(make_inputs(shifted).tensors.at("gate_weight"));
  const auto h = static_cast<std::size_t>(plain.shape.hidden);
  double moved = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(b[i] - a[i], b[i % h] - a[i % h]);
    moved += std::abs(b[i] - a[i]);
  }
  EXPECT_GT(moved, 0);
}

TEST(Vary, PoisonTouchesIdleExpertsOnly) {
  Case plain = layer_case();
  plain.input.idle_experts = 1;
  Case poisoned = plain;
  poisoned.variation = Variation::poisoned_idle;
  const Inputs a = make_inputs(plain).tensors, b = make_inputs(poisoned).tensors;
  EXPECT_EQ(slice_rows(a.at("w13"), 0, 3).data, slice_rows(b.at("w13"), 0, 3).data);
  for (const double value : to_doubles(slice_rows(b.at("w13"), 3, 4))) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(slice_rows(a.at("w2_fused"), 4, 5).data, slice_rows(b.at("w2_fused"), 4, 5).data) << "the shared expert";
}

TEST(Vary, VariationsOfOneLayerShareAGroupAndAreNotCollapsed) {
  const Plan plan = make_plan({layer_case(), varied(Variation::permuted), varied(Variation::shifted)});
  EXPECT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.cases.size(), 3u);
}

}  // namespace
}  // namespace moediff
