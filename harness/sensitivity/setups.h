// Cases and Programs that defects start from, and that they turn into: one small function each, by what it sets.
#pragma once

#include "harness/program/program.h"
#include "harness/scenario/case.h"

/// What the healthy case has besides its size.
namespace moediff::healthy {
void exact(Case& c);
void top4(Case& c);
void f32(Case& c);
void f16(Case& c);
void exact_f32(Case& c);
void groups(Case& c);
void negative_groups(Case& c);
void many_experts(Case& c);
void gelu_tanh(Case& c);
void clamped(Case& c);
void fp8_block(Case& c);
void fp8_ragged(Case& c);
void fp8_fnuz(Case& c);
void fp8_channel(Case& c);
void fp8_small_x(Case& c);
void int8(Case& c);
void int8_exact(Case& c);
void int4(Case& c);
void mxfp4(Case& c);
void weight_on_gemm1(Case& c);
}  // namespace moediff::healthy

/// What the defective candidate does in its place.
namespace moediff::instead {
void gelu_erf(Case& c);
void plain_silu(Case& c);
void round_once(Case& c);
void sum_in_model_dtype(Case& c);
void no_normalisation(Case& c);
void group_maximum(Case& c);
void mask_zero(Case& c);
void scores_in_bf16(Case& c);
void weights_in_bf16(Case& c);
void weight_from_choice(Case& c);
void softmax_scores(Case& c);
void factor_in_both(Case& c);
void ue8m0(Case& c);
void fmax_224(Case& c);
void high_floor(Case& c);
void halves_away(Case& c);
void weight_on_output(Case& c);
void factor_twice(Program& p);
void factor_left_out(Program& p);
void shared_left_out(Program& p);
void weight_before_the_cast(Program& p);
}  // namespace moediff::instead
