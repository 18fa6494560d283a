// What is rounded where, as data (architecture §5: the bound formulae in compare/bounds read this table).
// Source: semantics of vLLM's Triton fused_experts and csrc/activation_kernels.cu (two roundings in silu_and_mul), the
// modular "contiguous" reduce (the router weight is multiplied after GEMM2 was rounded), DeepseekV2MoE.forward (scale,
// then add).
#pragma once

#include <array>
#include <string_view>

#include "harness/model/ops.h"

namespace moediff {

/// The arithmetic of one output of an op. "model dtype" is the case's dtype (f32 or bf16).
struct RoundingRow {
  OpKind op;
  std::string_view output;
  enum class Form {
    dot,        ///< fp32 accumulation of K products in order, rounded once to the output dtype
    silu_mul,   ///< silu in fp32, rounded to the model dtype, times up, rounded to the model dtype
    weighted,   ///< fp32 accumulation of W weighted terms in slot order, rounded once
    scale_add,  ///< times the factor, rounded; plus the shared output, rounded
    add,        ///< one addition, rounded
    weights,    ///< sigmoid, sum, division, factor: all in fp32
    selection,  ///< discrete: experts chosen from scores with an fp32 error
    exact,      ///< integers
  } form;
  bool fp32_output;  ///< output stays fp32 whatever the model dtype
};

inline constexpr std::array<RoundingRow, 15> kRoundings{{
    {OpKind::router, "router_logits", RoundingRow::Form::dot, true},
    {OpKind::router, "topk_ids", RoundingRow::Form::selection, false},
    {OpKind::router, "topk_weights", RoundingRow::Form::weights, true},
    {OpKind::dispatch, "expert_offsets", RoundingRow::Form::exact, false},
    {OpKind::dispatch, "sorted_slots", RoundingRow::Form::exact, false},
    {OpKind::dispatch, "slot_rows", RoundingRow::Form::exact, false},
    {OpKind::gemm1, "gemm1_out", RoundingRow::Form::dot, false},
    {OpKind::activation, "act_out", RoundingRow::Form::silu_mul, false},
    {OpKind::gemm2, "gemm2_out", RoundingRow::Form::dot, false},
    {OpKind::combine, "routed_out", RoundingRow::Form::weighted, false},
    {OpKind::shared_gemm1, "shared_gemm1_out", RoundingRow::Form::dot, false},
    {OpKind::shared_activation, "shared_act_out", RoundingRow::Form::silu_mul, false},
    {OpKind::shared_gemm2, "shared_out", RoundingRow::Form::dot, false},
    {OpKind::scale_add, "moe_out", RoundingRow::Form::scale_add, false},
    {OpKind::residual_add, "layer_out", RoundingRow::Form::add, false},
}};

}  // namespace moediff
