// From operand slots to launches: one short function an op.
#include "kernels/providers/builtin/ops.h"

#include "kernels/activation/activation.h"
#include "kernels/combine/combine.h"
#include "kernels/dispatch/dispatch.h"
#include "kernels/router/router.h"

namespace moediff::kernels {

template <typename T>
Gemm<T, T> gemm1_of(const OpCall& call) {
  const std::int64_t tokens = call.size(MD_GEMM1_HIDDEN, 0), rows = call.size(MD_GEMM1_SLOTS, 0);
  const md_tensor& weights = call.tensors[MD_GEMM1_W13];
  Gemm<T, T> gemm;
  gemm.a = call.matrix<const T>(MD_GEMM1_HIDDEN);
  gemm.weights = call.data<const T>(MD_GEMM1_W13);
  gemm.expert_stride = weights.stride[0];
  gemm.weight_stride = weights.stride[1];
  gemm.experts = weights.shape[0];
  gemm.offsets = call.data<const std::int32_t>(MD_GEMM1_OFFSETS);
  gemm.slots = call.data<const std::int32_t>(MD_GEMM1_SLOTS);
  gemm.slots_per_token = tokens == 0 ? 1 : rows / tokens;
  gemm.out = call.matrix<T>(MD_GEMM1_OUT);
  gemm.k = gemm.a.columns;
  return gemm;
}

template <typename T>
Gemm<T, T> gemm2_of(const OpCall& call) {
  const md_tensor& weights = call.tensors[MD_GEMM2_W2];
  Gemm<T, T> gemm;
  gemm.a = call.matrix<const T>(MD_GEMM2_ACT);
  gemm.weights = call.data<const T>(MD_GEMM2_W2);
  gemm.expert_stride = weights.stride[0];
  gemm.weight_stride = weights.stride[1];
  gemm.experts = weights.shape[0];
  gemm.offsets = call.data<const std::int32_t>(MD_GEMM2_OFFSETS);
  gemm.out = call.matrix<T>(MD_GEMM2_OUT);
  gemm.k = gemm.a.columns;
  return gemm;
}

template <typename In, typename Out>
Gemm<In, Out> dense_gemm(const OpCall& call, int a, int weights, int out) {
  Gemm<In, Out> gemm;
  gemm.a = call.matrix<const In>(a);
  gemm.weights = call.data<const In>(weights);
  gemm.weight_stride = call.tensors[weights].stride[0];
  gemm.out = call.matrix<Out>(out);
  gemm.k = gemm.a.columns;
  return gemm;
}

template <typename T>
Gemm<T, T> shared_gemm1_of(const OpCall& call) {
  return dense_gemm<T, T>(call, MD_SHARED_GEMM1_HIDDEN, MD_SHARED_GEMM1_W13, MD_SHARED_GEMM1_OUT);
}

template <typename T>
Gemm<T, float> split_gemm(const Gemm<T, T>& gemm, Matrix<float> partial, int splits, std::int64_t split_stride) {
  return {.a = gemm.a,
          .weights = gemm.weights,
          .expert_stride = gemm.expert_stride,
          .weight_stride = gemm.weight_stride,
          .experts = gemm.experts,
          .offsets = gemm.offsets,
          .slots = gemm.slots,
          .slots_per_token = gemm.slots_per_token,
          .out = partial,
          .k = gemm.k,
          .splits = splits,
          .split_stride = split_stride};
}

namespace {

/// In one launch, or by partial sums in the workspace operand.
template <typename T>
int run_split_gemm(const OpCall& call, const Gemm<T, T>& gemm, int workspace) {
  if (call.params.split_k == 1 || gemm.out.rows == 0) {
    HIP_CHECK(launch_gemm(gemm, call.stream));
    return 0;
  }
  const Matrix<float> partial = call.matrix<float>(workspace);
  const std::int64_t split_stride = call.tensors[workspace].stride[0];
  HIP_CHECK(launch_gemm(split_gemm(gemm, partial, call.params.split_k, split_stride), call.stream));
  const Matrix<const float> sums{partial.data, partial.rows, partial.columns, partial.stride};
  HIP_CHECK(launch_reduce_splits(sums, call.params.split_k, split_stride, gemm.out, call.stream));
  return 0;
}

template <typename T>
int router(const OpCall& call) {
  HIP_CHECK(launch_gemm(dense_gemm<T, float>(call, MD_ROUTER_HIDDEN, MD_ROUTER_WEIGHT, MD_ROUTER_LOGITS), call.stream));
  HIP_CHECK(launch_select_experts(call.matrix<const float>(MD_ROUTER_LOGITS), call.data<const float>(MD_ROUTER_BIAS),
                                  router_policy(call.params), call.matrix<std::int32_t>(MD_ROUTER_IDS),
                                  call.matrix<float>(MD_ROUTER_WEIGHTS), call.stream));
  return 0;
}

int dispatch(const OpCall& call) {
  HIP_CHECK(launch_dispatch(call.matrix<const std::int32_t>(MD_DISPATCH_IDS), call.size(MD_DISPATCH_OFFSETS, 0) - 1,
                            call.data<std::int32_t>(MD_DISPATCH_OFFSETS), call.data<std::int32_t>(MD_DISPATCH_SLOTS),
                            call.data<std::int32_t>(MD_DISPATCH_ROWS), call.stream));
  return 0;
}

template <typename T>
int gemm1(const OpCall& call) {
  return run_split_gemm(call, gemm1_of<T>(call), MD_GEMM1_WORKSPACE);
}

template <typename T>
int activation(const OpCall& call) {
  HIP_CHECK(
      launch_silu_and_mul(call.matrix<const T>(MD_ACTIVATION_IN), call.matrix<T>(MD_ACTIVATION_OUT), call.stream));
  return 0;
}

template <typename T>
int gemm2(const OpCall& call) {
  HIP_CHECK(launch_gemm(gemm2_of<T>(call), call.stream));
  return 0;
}

template <typename T>
int combine(const OpCall& call) {
  HIP_CHECK(launch_combine(call.matrix<const T>(MD_COMBINE_IN), call.data<const std::int32_t>(MD_COMBINE_ROWS),
                           call.matrix<const float>(MD_COMBINE_WEIGHTS), call.matrix<T>(MD_COMBINE_OUT), call.stream));
  return 0;
}

template <typename T>
int shared_gemm1(const OpCall& call) {
  return run_split_gemm(call, shared_gemm1_of<T>(call), MD_SHARED_GEMM1_WORKSPACE);
}

template <typename T>
int shared_gemm2(const OpCall& call) {
  HIP_CHECK(
      launch_gemm(dense_gemm<T, T>(call, MD_SHARED_GEMM2_ACT, MD_SHARED_GEMM2_W2, MD_SHARED_GEMM2_OUT), call.stream));
  return 0;
}

template <typename T>
int scale_add(const OpCall& call) {
  const Matrix<const T> shared =
      call.has(MD_SCALE_ADD_SHARED) ? call.matrix<const T>(MD_SCALE_ADD_SHARED) : Matrix<const T>{};
  HIP_CHECK(launch_scale_add(call.matrix<const T>(MD_SCALE_ADD_ROUTED), shared, call.params.factor,
                             call.matrix<T>(MD_SCALE_ADD_OUT), call.stream));
  return 0;
}

template <typename T>
int residual_add(const OpCall& call) {
  HIP_CHECK(launch_residual_add(call.matrix<const T>(MD_RESIDUAL_ADD_MOE), call.matrix<const T>(MD_RESIDUAL_ADD_HIDDEN),
                                call.matrix<T>(MD_RESIDUAL_ADD_OUT), call.stream));
  return 0;
}

}  // namespace

const OpKernel kOps[MD_OP_COUNT] = {
    {router<float>, router<Bf16>},              // MD_OP_ROUTER
    {dispatch, dispatch},                       // MD_OP_DISPATCH
    {gemm1<float>, gemm1<Bf16>},                // MD_OP_GEMM1
    {activation<float>, activation<Bf16>},      // MD_OP_ACTIVATION
    {gemm2<float>, gemm2<Bf16>},                // MD_OP_GEMM2
    {combine<float>, combine<Bf16>},            // MD_OP_COMBINE
    {shared_gemm1<float>, shared_gemm1<Bf16>},  // MD_OP_SHARED_GEMM1
    {activation<float>, activation<Bf16>},      // MD_OP_SHARED_ACTIVATION: the same slots as MD_OP_ACTIVATION
    {shared_gemm2<float>, shared_gemm2<Bf16>},  // MD_OP_SHARED_GEMM2
    {scale_add<float>, scale_add<Bf16>},        // MD_OP_SCALE_ADD
    {residual_add<float>, residual_add<Bf16>},  // MD_OP_RESIDUAL_ADD
};

template Gemm<float, float> gemm1_of(const OpCall&);
template Gemm<Bf16, Bf16> gemm1_of(const OpCall&);
template Gemm<float, float> gemm2_of(const OpCall&);
template Gemm<Bf16, Bf16> gemm2_of(const OpCall&);
template Gemm<float, float> shared_gemm1_of(const OpCall&);
template Gemm<Bf16, Bf16> shared_gemm1_of(const OpCall&);
template Gemm<float, float> split_gemm(const Gemm<float, float>&, Matrix<float>, int, std::int64_t);
template Gemm<Bf16, float> split_gemm(const Gemm<Bf16, Bf16>&, Matrix<float>, int, std::int64_t);

}  // namespace moediff::kernels
