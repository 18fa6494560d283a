#include "harness/sensitivity/setups.h"

#include "harness/core/check.h"
#include "harness/program/rewrite.h"

namespace moediff::healthy {

void exact(Case& c) { c.input.distribution = Distribution::integers; }
void top4(Case& c) { c.shape.top_k = 4; }
void f32(Case& c) { c.dtype = DType::f32; }
void f16(Case& c) { c.dtype = DType::f16; }
void exact_f32(Case& c) {
  exact(c);
  f32(c);
}
void groups(Case& c) {
  c.shape.n_group = 4;
  c.shape.topk_group = 1;
  c.tokens = 64;
}
void negative_groups(Case& c) {
  groups(c);
  c.input.bias_scale = 2;  // many choices below zero, so that a mask of 0 wins
}
void many_experts(Case& c) {
  c.shape.experts = 64;
  c.shape.inter = 16;
  c.tokens = 256;
}
void gelu_tanh(Case& c) { c.expert.activation = ActivationKind::gelu_tanh; }
void clamped(Case& c) {
  c.expert.activation = ActivationKind::swiglu_clamped;
  c.expert.limit = 1.5;
}
void fp8_block(Case& c) { c.quant.scheme = QuantScheme::fp8_block; }
void fp8_ragged(Case& c) {
  fp8_block(c);
  c.shape.inter = 96;
  c.quant.group = 64;
}
void fp8_fnuz(Case& c) {
  fp8_block(c);
  c.quant.fp8 = Fp8Kind::e4m3fnuz;
}
void fp8_channel(Case& c) { c.quant.scheme = QuantScheme::fp8_channel; }
void fp8_small_x(Case& c) {
  fp8_block(c);
  c.input.distribution = Distribution::subnormal;
  c.quant.amax_floor = 1e-30;
}
void int8(Case& c) { c.quant.scheme = QuantScheme::int8_channel; }
void int8_exact(Case& c) {
  int8(c);
  exact(c);
  c.quant.fmax = 32;  // the constant column of 64 maps to 32: scales are 2, and odd integers are halves
}
void int4(Case& c) {
  c.quant.scheme = QuantScheme::int4_group;
  c.quant.group = 32;
}
void mxfp4(Case& c) { c.quant.scheme = QuantScheme::mxfp4; }
void weight_on_gemm1(Case& c) {
  c.shape.top_k = 1;
  c.shape.norm_topk_prob = false;  // a single normalised weight is 1
  c.router.weight_on = WeightPlace::gemm1;
}

}  // namespace moediff::healthy

namespace moediff::instead {
namespace {

Step& step_named(Program& program, std::string_view name) {
  const int step = find_step(program, name);
  CHECK(step >= 0, "the altered step exists");
  return program.steps[static_cast<std::size_t>(step)];
}

}  // namespace

void gelu_erf(Case& c) { c.expert.activation = ActivationKind::gelu; }
void plain_silu(Case& c) { c.expert.activation = ActivationKind::silu; }
void round_once(Case& c) { c.expert.activation_rounding = ActivationRounding::once; }
void sum_in_model_dtype(Case& c) { c.expert.sum = CombineSum::moe_sum; }
void no_normalisation(Case& c) { c.shape.norm_topk_prob = false; }
void group_maximum(Case& c) { c.router.group_score = GroupScore::max; }
void mask_zero(Case& c) { c.router.mask = MaskValue::zero; }
void scores_in_bf16(Case& c) { c.router.scores_in = KeptIn::model; }
void weights_in_bf16(Case& c) { c.router.weights_in = KeptIn::model; }
void weight_from_choice(Case& c) { c.router.weight_from = WeightSource::choice_minus_bias; }
void softmax_scores(Case& c) { c.router.scoring = Scoring::softmax; }
void factor_in_both(Case& c) { c.router.factor = FactorPlace::router; }
void ue8m0(Case& c) { c.quant.scales = ScaleKind::ue8m0; }
void fmax_224(Case& c) { c.quant.fmax = 224; }
void high_floor(Case& c) { c.quant.amax_floor = 1e-4; }
void halves_away(Case& c) { c.quant.half_to = HalfTo::away; }
void weight_on_output(Case& c) { c.router.weight_on = WeightPlace::gemm2; }

void factor_twice(Program& p) { step_named(p, "router").params.factor = p.shape.routed_scaling_factor; }
void factor_left_out(Program& p) { step_named(p, "scale_add").params.factor = 1; }
void shared_left_out(Program& p) { step_named(p, "scale_add").operands[1] = Operand{}; }
// The weight at gemm2, before the cast to the model dtype, and not at combine.
void weight_before_the_cast(Program& p) {
  Step &gemm2 = step_named(p, "gemm2"), &combine = step_named(p, "combine");
  const auto at = [](const Step& step, std::string_view slot) {
    return static_cast<std::size_t>(slot_index(step.op, slot));
  };
  Operand& weights = combine.operands[at(combine, "topk_weights")];
  gemm2.operands[at(gemm2, "topk_weights")] = weights;
  gemm2.operands[at(gemm2, "sorted_slots")] = step_named(p, "gemm1").operands[1];
  weights = Operand{};
}

}  // namespace moediff::instead
