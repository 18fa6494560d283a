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
};
inline constexpr int kOpKinds = 11;

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
  std::array<Slot, 8> slots;
  int slot_count;
};

// T tokens, H hidden, I inter, E experts, k top_k, S n_shared, W = k (or k+S when shared experts are fused into the
// routed ones), R = T*W rows sorted by expert.
inline constexpr std::array<OpRow, kOpKinds> kOps{{
    {OpKind::router,
     "router",
     "logits = x W_g^T; s = sigmoid(logits); top_k of s+bias in the topk_group best groups; weights s/sum(s) [* "
     "factor]",
     {{{"hidden_states", SlotUse::read},
       {"gate_weight", SlotUse::read},
       {"gate_bias", SlotUse::read},
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
     "row r of expert e: gemm1_out[r] = W13[e] x[token of r]   (gate rows, then up rows)",
     {{{"hidden_states", SlotUse::read},
       {"sorted_slots", SlotUse::read},
       {"expert_offsets", SlotUse::read},
       {"w13", SlotUse::read},
       {"gemm1_out", SlotUse::write},
       {"workspace", SlotUse::scratch}}},
     6},
    {OpKind::activation,
     "activation",
     "act_out = round(silu(gate)) * up",
     {{{"gemm1_out", SlotUse::read}, {"act_out", SlotUse::write}}},
     2},
    {OpKind::gemm2,
     "gemm2",
     "gemm2_out[r] = W2[e] act_out[r]",
     {{{"act_out", SlotUse::read},
       {"expert_offsets", SlotUse::read},
       {"w2", SlotUse::read},
       {"gemm2_out", SlotUse::write}}},
     4},
    {OpKind::combine,
     "combine",
     "routed_out[t] = sum over slots of weight * gemm2_out[row of slot], ascending slot, fp32, rounded once",
     {{{"gemm2_out", SlotUse::read},
       {"slot_rows", SlotUse::read},
       {"topk_weights", SlotUse::read},
       {"routed_out", SlotUse::write}}},
     4},
    {OpKind::shared_gemm1,
     "shared_gemm1",
     "shared_gemm1_out = W13_shared x   (gate rows, then up rows)",
     {{{"hidden_states", SlotUse::read},
       {"shared_w13", SlotUse::read},
       {"shared_gemm1_out", SlotUse::write},
       {"workspace", SlotUse::scratch}}},
     4},
    {OpKind::shared_activation,
     "shared_activation",
     "shared_act_out = round(silu(gate)) * up",
     {{{"shared_gemm1_out", SlotUse::read}, {"shared_act_out", SlotUse::write}}},
     2},
    {OpKind::shared_gemm2,
     "shared_gemm2",
     "shared_out = W2_shared shared_act_out",
     {{{"shared_act_out", SlotUse::read}, {"shared_w2", SlotUse::read}, {"shared_out", SlotUse::write}}},
     3},
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
