// What is rounded where, as data (architecture §5: the bound formulae in compare/bounds read this table).
// Source: semantics of vLLM's Triton fused_experts and csrc/activation_kernels.cu (two roundings in silu_and_mul), the
// modular "contiguous" reduce (the router weight is multiplied after GEMM2 was rounded), DeepseekV2MoE.forward (scale,
// then add), per_token_group_quant (fp32 up to the code).
#pragma once

#include <array>
#include <string_view>

#include "harness/model/ops.h"

namespace moediff {

/// The arithmetic of one output of an op. "model dtype" is the case's dtype (f32, bf16 or f16).
struct RoundingRow {
  OpKind op;
  std::string_view output;
  enum class Form {
    dot,          ///< fp32 accumulation of K products (with their scales), rounded once to the output dtype
    gated,        ///< f(gate) in fp32, by policy rounded to the model dtype, times h(up), rounded to the model dtype
    weighted,     ///< fp32 accumulation of W weighted terms in slot order, rounded once; by policy rounded_sum
    rounded_sum,  ///< W weighted terms in slot order, every product and every sum rounded to the model dtype
    scale_add,    ///< times the factor, rounded; plus the shared output, rounded
    add,          ///< one addition, rounded
    product,      ///< one product of a weight rounded to the model dtype, rounded
    weights,      ///< score, sum, division, factor: in fp32, but for the roundings that the policy names
    selection,    ///< discrete: experts chosen from scores with an fp32 error
    scale,        ///< largest magnitude over fmax in fp32, by policy rounded up to a power of two
    code,         ///< quotient by the stored scale in fp32, clamped, rounded to the code
    convert,      ///< one rounding, and nothing else
    exact,        ///< integers
  } form;
  bool fp32_output;  ///< output stays fp32 whatever the model dtype (logits: unless the policy says otherwise)
};

inline constexpr std::array<RoundingRow, 29> kRoundings{{
    {OpKind::router, "router_logits", RoundingRow::Form::dot, true},
    {OpKind::router, "topk_ids", RoundingRow::Form::selection, false},
    {OpKind::router, "topk_weights", RoundingRow::Form::weights, true},
    {OpKind::dispatch, "expert_offsets", RoundingRow::Form::exact, false},
    {OpKind::dispatch, "sorted_slots", RoundingRow::Form::exact, false},
    {OpKind::dispatch, "slot_rows", RoundingRow::Form::exact, false},
    {OpKind::gemm1, "gemm1_out", RoundingRow::Form::dot, false},
    {OpKind::activation, "act_out", RoundingRow::Form::gated, false},
    {OpKind::gemm2, "gemm2_out", RoundingRow::Form::dot, false},
    {OpKind::combine, "routed_out", RoundingRow::Form::weighted, false},
    {OpKind::shared_gemm1, "shared_gemm1_out", RoundingRow::Form::dot, false},
    {OpKind::shared_activation, "shared_act_out", RoundingRow::Form::gated, false},
    {OpKind::shared_gemm2, "shared_out", RoundingRow::Form::dot, false},
    {OpKind::scale_add, "moe_out", RoundingRow::Form::scale_add, false},
    {OpKind::residual_add, "layer_out", RoundingRow::Form::add, false},
    {OpKind::weigh_input, "weighted_hidden", RoundingRow::Form::product, false},
    {OpKind::quantize_a1, "a1_codes", RoundingRow::Form::code, false},
    {OpKind::quantize_a1, "a1_scales", RoundingRow::Form::scale, true},
    {OpKind::quantize_a2, "a2_codes", RoundingRow::Form::code, false},
    {OpKind::quantize_a2, "a2_scales", RoundingRow::Form::scale, true},
    {OpKind::activation_quantize, "a2_codes", RoundingRow::Form::code, false},
    {OpKind::activation_quantize, "a2_scales", RoundingRow::Form::scale, true},
    {OpKind::shared_quantize_a1, "shared_a1_codes", RoundingRow::Form::code, false},
    {OpKind::shared_quantize_a1, "shared_a1_scales", RoundingRow::Form::scale, true},
    {OpKind::shared_quantize_a2, "shared_a2_codes", RoundingRow::Form::code, false},
    {OpKind::shared_quantize_a2, "shared_a2_scales", RoundingRow::Form::scale, true},
    {OpKind::shared_activation_quantize, "shared_a2_codes", RoundingRow::Form::code, false},
    {OpKind::shared_activation_quantize, "shared_a2_scales", RoundingRow::Form::scale, true},
    {OpKind::convert, "to", RoundingRow::Form::convert, false},
}};

/// The form of an output: every output of every op has a row (a test holds the tables together).
constexpr RoundingRow::Form rounding_form(OpKind op, std::string_view output) {
  for (const RoundingRow& row : kRoundings) {
    if (row.op == op && row.output == output) return row.form;
  }
  return RoundingRow::Form::exact;
}

}  // namespace moediff
