// The ops of an MoE layer: what a provider is asked to compute, one row each. The row gives the provider call its
// operand order (the slots of kernels/abi/moediff_abi.h), the reference its formula, the report its stage.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace moediff {

enum class OpKind : std::uint8_t {
  router,
  dispatch,
  gemm1,
  activation,
  gemm2,
  combine,
  shared_gemm1,
  shared_activation,
  shared_gemm2,
  scale_add,
  residual_add,
  weigh_input,
  quantize_a1,
  quantize_a2,
  activation_quantize,
  shared_quantize_a1,
  shared_quantize_a2,
  shared_activation_quantize,
  convert,
};
inline constexpr int kOpKinds = 19;

/// How an operand is used by an op.
enum class SlotUse : std::uint8_t { read, write, scratch, optional_read };

struct Slot {
  std::string_view name;
  SlotUse use;
};

struct OpRow {
  OpKind kind;
  std::string_view name;     ///< also the stage's name, in YAML and reports
  std::string_view formula;  ///< what it computes, for `explain` and the documentation
  std::array<Slot, 10> slots;
  int slot_count;
};

// Quantised layers: gemm1 and gemm2 read codes in the place of hidden_states and act_out, and the scales of both sides.
// T tokens, H hidden, I inter, E experts, k top_k, S n_shared, W = k (or k+S when shared experts are fused into the
// routed ones), R = T*W rows sorted by expert.
inline constexpr std::array<OpRow, kOpKinds> kOps{{
    {OpKind::router,
     "router",
     "logits = x W_g^T; s = sigmoid or softmax(logits); top_k of s [+ bias] in the topk_group best groups; weights s "
     "[/ sum(s)] [* factor]",
     {{{"hidden_states", SlotUse::read},
       {"gate_weight", SlotUse::read},
       {"gate_bias", SlotUse::optional_read},
       {"router_logits", SlotUse::write},
       {"topk_ids", SlotUse::write},
       {"topk_weights", SlotUse::write}}},
     6},
    {OpKind::dispatch,
     "dispatch",
     "stable counting sort of the T*W slots by expert: offsets[E+1], slot of each row, row of each slot",
     {{{"topk_ids", SlotUse::read},
       {"expert_offsets", SlotUse::write},
       {"sorted_slots", SlotUse::write},
       {"slot_rows", SlotUse::write}}},
     4},
    {OpKind::gemm1,
     "gemm1",
     "row r of expert e: gemm1_out[r] = [weight of r *] W13[e] x[token of r]   (gate rows, then up rows)",
     {{{"hidden_states", SlotUse::read},
       {"sorted_slots", SlotUse::read},
       {"expert_offsets", SlotUse::read},
       {"w13", SlotUse::read},
       {"gemm1_out", SlotUse::write},
       {"workspace", SlotUse::scratch},
       {"a1_scales", SlotUse::optional_read},
       {"w13_scales", SlotUse::optional_read},
       {"topk_weights", SlotUse::optional_read},
       {"w13_offset", SlotUse::optional_read}}},
     10},
    {OpKind::activation,
     "activation",
     "act_out = round(f(gate)) * up",
     {{{"gemm1_out", SlotUse::read}, {"act_out", SlotUse::write}}},
     2},
    {OpKind::gemm2,
     "gemm2",
     "gemm2_out[r] = [weight of r *] W2[e] act_out[r]",
     {{{"act_out", SlotUse::read},
       {"expert_offsets", SlotUse::read},
       {"w2", SlotUse::read},
       {"gemm2_out", SlotUse::write},
       {"sorted_slots", SlotUse::optional_read},
       {"topk_weights", SlotUse::optional_read},
       {"a2_scales", SlotUse::optional_read},
       {"w2_scales", SlotUse::optional_read},
       {"w2_offset", SlotUse::optional_read}}},
     9},
    {OpKind::combine,
     "combine",
     "routed_out[t] = sum over slots of [weight *] gemm2_out[row of slot], ascending slot",
     {{{"gemm2_out", SlotUse::read},
       {"slot_rows", SlotUse::read},
       {"topk_weights", SlotUse::optional_read},
       {"routed_out", SlotUse::write}}},
     4},
    {OpKind::shared_gemm1,
     "shared_gemm1",
     "shared_gemm1_out = W13_shared x   (gate rows, then up rows)",
     {{{"hidden_states", SlotUse::read},
       {"shared_w13", SlotUse::read},
       {"shared_gemm1_out", SlotUse::write},
       {"workspace", SlotUse::scratch},
       {"a1_scales", SlotUse::optional_read},
       {"w13_scales", SlotUse::optional_read},
       {"w13_offset", SlotUse::optional_read}}},
     7},
    {OpKind::shared_activation,
     "shared_activation",
     "shared_act_out = round(f(gate)) * up",
     {{{"shared_gemm1_out", SlotUse::read}, {"shared_act_out", SlotUse::write}}},
     2},
    {OpKind::shared_gemm2,
     "shared_gemm2",
     "shared_out = W2_shared shared_act_out",
     {{{"shared_act_out", SlotUse::read},
       {"shared_w2", SlotUse::read},
       {"shared_out", SlotUse::write},
       {"a2_scales", SlotUse::optional_read},
       {"w2_scales", SlotUse::optional_read},
       {"w2_offset", SlotUse::optional_read}}},
     6},
    {OpKind::scale_add,
     "scale_add",
     "moe_out = round(round(factor * routed_out) + shared_out)",
     {{{"routed_out", SlotUse::read}, {"shared_out", SlotUse::optional_read}, {"moe_out", SlotUse::write}}},
     3},
    {OpKind::residual_add,
     "residual_add",
     "layer_out = moe_out + hidden_states",
     {{{"moe_out", SlotUse::read}, {"hidden_states", SlotUse::read}, {"layer_out", SlotUse::write}}},
     3},
    {OpKind::weigh_input,
     "weigh_input",
     "weighted_hidden[t] = round(round(weight of t) * x[t])   (top-1)",
     {{{"hidden_states", SlotUse::read}, {"topk_weights", SlotUse::read}, {"weighted_hidden", SlotUse::write}}},
     3},
    {OpKind::quantize_a1,
     "quantize_a1",
     "scale = max(largest magnitude, floor) / fmax of each group; code = round(x / scale)",
     {{{"hidden_states", SlotUse::read}, {"a1_codes", SlotUse::write}, {"a1_scales", SlotUse::write}}},
     3},
    {OpKind::quantize_a2,
     "quantize_a2",
     "scale and code of each group of act_out, as quantize_a1",
     {{{"act_out", SlotUse::read}, {"a2_codes", SlotUse::write}, {"a2_scales", SlotUse::write}}},
     3},
    {OpKind::activation_quantize,
     "activation_quantize",
     "f(gate) * up in fp32, then scale and code of each group",
     {{{"gemm1_out", SlotUse::read}, {"a2_codes", SlotUse::write}, {"a2_scales", SlotUse::write}}},
     3},
    {OpKind::shared_quantize_a1,
     "shared_quantize_a1",
     "as quantize_a1, for the shared experts",
     {{{"hidden_states", SlotUse::read}, {"shared_a1_codes", SlotUse::write}, {"shared_a1_scales", SlotUse::write}}},
     3},
    {OpKind::shared_quantize_a2,
     "shared_quantize_a2",
     "as quantize_a2, of shared_act_out",
     {{{"shared_act_out", SlotUse::read}, {"shared_a2_codes", SlotUse::write}, {"shared_a2_scales", SlotUse::write}}},
     3},
    {OpKind::shared_activation_quantize,
     "shared_activation_quantize",
     "as activation_quantize, of shared_gemm1_out",
     {{{"shared_gemm1_out", SlotUse::read}, {"shared_a2_codes", SlotUse::write}, {"shared_a2_scales", SlotUse::write}}},
     3},
    {OpKind::convert,
     "convert",
     "to = from in another number format, to the nearest, ties to even (conformance checks only)",
     {{{"from", SlotUse::read}, {"to", SlotUse::write}}},
     2},
}};

/// Copies that builders put between ops; they can be victims and culprits too.
inline constexpr std::array<std::string_view, 3> kCopyNames{"clone_hidden", "stage_hidden", "unstage_output"};

constexpr const OpRow& row(OpKind kind) { return kOps[static_cast<std::size_t>(kind)]; }
constexpr std::string_view to_string(OpKind kind) { return row(kind).name; }
inline std::span<const Slot> slots(OpKind kind) {
  return {row(kind).slots.data(), static_cast<std::size_t>(row(kind).slot_count)};
}
/// Index of a slot in its op's row, or -1.
constexpr int slot_index(OpKind kind, std::string_view name) {
  for (int i = 0; i < row(kind).slot_count; ++i) {
    if (row(kind).slots[i].name == name) return i;
  }
  return -1;
}

}  // namespace moediff
