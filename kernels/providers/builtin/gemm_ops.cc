// From operand slots to the launches of the matrix products, the quantisations and the conversion.
#include "kernels/providers/builtin/gemm_ops.h"

#include "kernels/convert/convert.h"
#include "kernels/providers/builtin/operand_rules.h"
#include "kernels/quant/quantize.h"

namespace moediff::kernels {
namespace {

/// The slots that a matrix product has, whichever op it is.
struct GemmSlots {
  int a, weights, out, a_scales, weight_scales;
};

/// The granularity of a scheme's scales, by md_params::scheme.
struct ScalingRow {
  Scaling scaling;
  bool scale_a_row, scale_weight_row;  ///< each row has a scale, else one serves all
  WeightCode packed;                   ///< what two codes a byte are
};
constexpr ScalingRow kScalings[] = {
    {Scaling::none, false, false, WeightCode::value},   // MD_SCHEME_NONE
    {Scaling::block, true, true, WeightCode::value},    // MD_SCHEME_FP8_BLOCK
    {Scaling::range, false, false, WeightCode::value},  // MD_SCHEME_FP8_TENSOR
    {Scaling::range, true, true, WeightCode::value},    // MD_SCHEME_FP8_CHANNEL
    {Scaling::range, true, true, WeightCode::value},    // MD_SCHEME_INT8_CHANNEL
    {Scaling::weight, false, true, WeightCode::int4},   // MD_SCHEME_INT4_GROUP
    {Scaling::weight, false, true, WeightCode::e2m1},   // MD_SCHEME_MXFP4
};

/// From one matrix to the next, for weights [E, n, k] and scales [E, sn, sk]; dense ones have but one.
std::int64_t expert_stride(const md_tensor& t) { return t.rank == 3 ? t.stride[0] : 0; }
std::int64_t row_stride(const md_tensor& t) { return t.stride[t.rank - 2]; }

void add_scales(const OpCall& call, const GemmSlots& slots, Gemm& gemm) {
  const ScalingRow& scheme = kScalings[call.params.scheme];
  const md_tensor& scales = call.tensors[slots.weight_scales];
  gemm.scaling = scheme.scaling;
  gemm.group = call.params.scheme == MD_SCHEME_MXFP4 ? kMxGroup : call.params.group;
  gemm.round_weight_to = gemm.a_dtype;
  gemm.weight_code = gemm.weight_dtype == MD_U8 ? scheme.packed : WeightCode::value;
  gemm.half = scheme.scaling == Scaling::block && call.params.halves != 0 ? gemm.columns / 2 : 0;
  gemm.weight_scales = scales.data;
  gemm.weight_scale_dtype = scales.dtype;
  gemm.scale_expert_stride = expert_stride(scales);
  gemm.weight_scale_stride = scheme.scale_weight_row ? row_stride(scales) : 0;
  if (scheme.scaling == Scaling::weight) return;
  gemm.a_scales = call.tensors[slots.a_scales].data;
  gemm.a_scale_stride = scheme.scale_a_row ? row_stride(call.tensors[slots.a_scales]) : 0;
}

Gemm gemm_of(const OpCall& call, const GemmSlots& slots) {
  const md_tensor &a = call.tensors[slots.a], &weights = call.tensors[slots.weights], &out = call.tensors[slots.out];
  Gemm gemm;
  gemm.a = a.data;
  gemm.a_dtype = a.dtype;
  gemm.a_rows = a.shape[0];
  gemm.a_stride = a.stride[0];
  gemm.weights = weights.data;
  gemm.weight_dtype = weights.dtype;
  gemm.expert_stride = expert_stride(weights);
  gemm.weight_stride = row_stride(weights);
  gemm.out = out.data;
  gemm.out_dtype = out.dtype;
  gemm.rows = out.shape[0];
  gemm.columns = out.shape[1];
  gemm.out_stride = out.stride[0];
  gemm.k = a.shape[1];
  return gemm;
}

Gemm quantised_gemm_of(const OpCall& call, const GemmSlots& slots) {
  Gemm gemm = gemm_of(call, slots);
  if (call.params.scheme != MD_SCHEME_NONE) add_scales(call, slots, gemm);
  return gemm;
}

void add_grouping(const OpCall& call, int weights, int offsets, Gemm& gemm) {
  gemm.experts = call.size(weights, 0);
  gemm.offsets = call.data<const std::int32_t>(offsets);
}

void add_row_weights(const OpCall& call, int row_weights, int slots, Gemm& gemm) {
  if (!call.has(row_weights)) return;
  const md_tensor& weights = call.tensors[row_weights];
  gemm.row_weights = weights.data;
  gemm.row_weight_slots = call.data<const std::int32_t>(slots);
  gemm.row_weight_rows = weights.shape[0];
  gemm.row_weight_columns = weights.shape[1];
  gemm.row_weight_stride = weights.stride[0];
}

int run(const OpCall& call, const Gemm& gemm) {
  HIP_CHECK(launch_gemm(gemm, call.stream));
  return 0;
}

/// In one launch, or by partial sums in the workspace operand.
int run_split(const OpCall& call, const Gemm& gemm, int workspace) {
  if (call.params.split_k == 1 || gemm.rows == 0) return run(call, gemm);
  const md_tensor& partial = call.tensors[workspace];
  const Gemm split = split_gemm(gemm, partial.data, partial.stride[1], call.params.split_k, partial.stride[0]);
  HIP_CHECK(launch_gemm(split, call.stream));
  HIP_CHECK(launch_reduce_splits(split, gemm, call.stream));
  return 0;
}

QuantizePolicy policy_of(const md_params& params) {
  return {params.scale_kind, params.scale_from, params.scale_by, params.half_to, params.fmax, params.amax_floor};
}

/// Elements that share a scale, by scheme.
ScaleScope scope_of(const md_params& params) {
  switch (params.scheme) {
    case MD_SCHEME_FP8_BLOCK:
      return ScaleScope::group;
    case MD_SCHEME_FP8_TENSOR:
      return ScaleScope::tensor;
    default:
      return ScaleScope::row;
  }
}

Quantize quantize_of(const OpCall& call) {
  const md_tensor &in = call.tensors[MD_QUANTIZE_IN], &codes = call.tensors[MD_QUANTIZE_CODES],
                  &scales = call.tensors[MD_QUANTIZE_SCALES];
  Quantize job;
  job.in = in.data;
  job.in_dtype = in.dtype;
  job.in_stride = in.stride[0];
  job.codes = codes.data;
  job.code_dtype = codes.dtype;
  job.rows = codes.shape[0];
  job.columns = codes.shape[1];
  job.code_stride = codes.stride[0];
  job.scales = scales.data;
  job.scale_stride = scales.stride[0];
  job.scope = scope_of(call.params);
  job.group = call.params.group;
  job.policy = policy_of(call.params);
  return job;
}

}  // namespace

Gemm gemm1_of(const OpCall& call) {
  Gemm gemm =
      quantised_gemm_of(call, {MD_GEMM1_HIDDEN, MD_GEMM1_W13, MD_GEMM1_OUT, MD_GEMM1_A_SCALES, MD_GEMM1_W_SCALES});
  add_grouping(call, MD_GEMM1_W13, MD_GEMM1_OFFSETS, gemm);
  gemm.slots = call.data<const std::int32_t>(MD_GEMM1_SLOTS);
  gemm.slots_per_token = gemm.a_rows == 0 ? 1 : gemm.rows / gemm.a_rows;
  add_row_weights(call, MD_GEMM1_WEIGHTS, MD_GEMM1_SLOTS, gemm);
  return gemm;
}

Gemm gemm2_of(const OpCall& call) {
  Gemm gemm = quantised_gemm_of(call, {MD_GEMM2_ACT, MD_GEMM2_W2, MD_GEMM2_OUT, MD_GEMM2_A_SCALES, MD_GEMM2_W_SCALES});
  add_grouping(call, MD_GEMM2_W2, MD_GEMM2_OFFSETS, gemm);
  add_row_weights(call, MD_GEMM2_WEIGHTS, MD_GEMM2_SLOTS, gemm);
  return gemm;
}

Gemm shared_gemm1_of(const OpCall& call) {
  return quantised_gemm_of(call, {MD_SHARED_GEMM1_HIDDEN, MD_SHARED_GEMM1_W13, MD_SHARED_GEMM1_OUT,
                                  MD_SHARED_GEMM1_A_SCALES, MD_SHARED_GEMM1_W_SCALES});
}

Gemm dense_gemm(const OpCall& call, int a, int weights, int out) { return gemm_of(call, {a, weights, out, -1, -1}); }

int gemm1(const OpCall& call) { return run_split(call, gemm1_of(call), MD_GEMM1_WORKSPACE); }

int gemm2(const OpCall& call) { return run(call, gemm2_of(call)); }

int shared_gemm1(const OpCall& call) { return run_split(call, shared_gemm1_of(call), MD_SHARED_GEMM1_WORKSPACE); }

int shared_gemm2(const OpCall& call) {
  return run(call, quantised_gemm_of(call, {MD_SHARED_GEMM2_ACT, MD_SHARED_GEMM2_W2, MD_SHARED_GEMM2_OUT,
                                            MD_SHARED_GEMM2_A_SCALES, MD_SHARED_GEMM2_W_SCALES}));
}

int quantize(const OpCall& call) {
  HIP_CHECK(launch_quantize(quantize_of(call), call.stream));
  return 0;
}

int activation_quantize(const OpCall& call) {
  Quantize job = quantize_of(call);
  job.gated = true;
  job.gating = gating_of(call.params);
  HIP_CHECK(launch_quantize(job, call.stream));
  return 0;
}

int convert(const OpCall& call) {
  const md_tensor &from = call.tensors[MD_CONVERT_FROM], &to = call.tensors[MD_CONVERT_TO];
  HIP_CHECK(
      launch_convert(from.data, from.dtype, to.data, to.dtype, to.shape[0], call.params.saturate != 0, call.stream));
  return 0;
}

}  // namespace moediff::kernels
