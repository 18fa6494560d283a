// From operand slots to launches: one short function an op. Those that multiply matrices or quantise are in
// gemm_ops.cc.
#include "kernels/providers/builtin/ops.h"

#include "kernels/activation/activation.h"
#include "kernels/combine/combine.h"
#include "kernels/dispatch/dispatch.h"
#include "kernels/hip/formats.h"
#include "kernels/providers/builtin/gemm_ops.h"
#include "kernels/router/router.h"

namespace moediff::kernels {
namespace {

template <typename T, typename L>
int select(const OpCall& call) {
  HIP_CHECK((launch_select_experts<T, L>(call.matrix<const L>(MD_ROUTER_LOGITS),
                                         call.has(MD_ROUTER_BIAS) ? call.data<const float>(MD_ROUTER_BIAS) : nullptr,
                                         router_policy(call.params), call.matrix<std::int32_t>(MD_ROUTER_IDS),
                                         call.matrix<float>(MD_ROUTER_WEIGHTS), call.stream)));
  return 0;
}

template <typename T>
int router(const OpCall& call) {
  HIP_CHECK(launch_gemm(dense_gemm(call, MD_ROUTER_HIDDEN, MD_ROUTER_WEIGHT, MD_ROUTER_LOGITS), call.stream));
  return call.tensors[MD_ROUTER_LOGITS].dtype == MD_F32 ? select<T, float>(call) : select<T, T>(call);
}

int dispatch(const OpCall& call) {
  HIP_CHECK(launch_dispatch(call.matrix<const std::int32_t>(MD_DISPATCH_IDS), call.size(MD_DISPATCH_OFFSETS, 0) - 1,
                            call.data<std::int32_t>(MD_DISPATCH_OFFSETS), call.data<std::int32_t>(MD_DISPATCH_SLOTS),
                            call.data<std::int32_t>(MD_DISPATCH_ROWS), call.stream));
  return 0;
}

template <typename T>
int activation(const OpCall& call) {
  HIP_CHECK(launch_activation(call.matrix<const T>(MD_ACTIVATION_IN), gating_of(call.params),
                              call.matrix<T>(MD_ACTIVATION_OUT), call.stream));
  return 0;
}

template <typename T>
int combine(const OpCall& call) {
  const Matrix<T> out = call.matrix<T>(MD_COMBINE_OUT);
  Slots<T> slots{call.data<const std::int32_t>(MD_COMBINE_ROWS), 0,
                 call.matrix_or_none<const Wide<T>>(MD_COMBINE_WEIGHTS)};
  slots.width = out.rows == 0 ? 0 : call.size(MD_COMBINE_ROWS, 0) / out.rows;
  HIP_CHECK(
      launch_combine(call.matrix<const T>(MD_COMBINE_IN), slots, call.params.sum == MD_SUM_MOE_SUM, out, call.stream));
  return 0;
}

template <typename T>
Wide<T> factor_of(const md_params& params) {
  if constexpr (std::is_same_v<T, Field>) {
    return field_of(params.field_factor);
  } else {
    return params.factor;
  }
}

template <typename T>
int scale_add(const OpCall& call) {
  HIP_CHECK(launch_scale_add(call.matrix<const T>(MD_SCALE_ADD_ROUTED),
                             call.matrix_or_none<const T>(MD_SCALE_ADD_SHARED), factor_of<T>(call.params),
                             call.matrix<T>(MD_SCALE_ADD_OUT), call.stream));
  return 0;
}

template <typename T>
int residual_add(const OpCall& call) {
  HIP_CHECK(launch_residual_add(call.matrix<const T>(MD_RESIDUAL_ADD_MOE), call.matrix<const T>(MD_RESIDUAL_ADD_HIDDEN),
                                call.matrix<T>(MD_RESIDUAL_ADD_OUT), call.stream));
  return 0;
}

template <typename T>
int weigh_input(const OpCall& call) {
  HIP_CHECK(launch_weigh_input(call.matrix<const T>(MD_WEIGH_INPUT_HIDDEN),
                               call.matrix<const Wide<T>>(MD_WEIGH_INPUT_WEIGHTS), call.matrix<T>(MD_WEIGH_INPUT_OUT),
                               call.stream));
  return 0;
}

/// One function that reads the dtypes from the operands.
constexpr OpKernel any(OpFunction op) { return {op, op, op, op}; }

constexpr OpKernel kActivation{activation<float>, activation<Bf16>, activation<F16>, activation<Field>};

}  // namespace

const OpKernel kOps[MD_OP_COUNT] = {
    {router<float>, router<Bf16>, router<F16>, nullptr},                                // MD_OP_ROUTER
    any(dispatch),                                                                      // MD_OP_DISPATCH
    any(gemm1),                                                                         // MD_OP_GEMM1
    kActivation,                                                                        // MD_OP_ACTIVATION
    any(gemm2),                                                                         // MD_OP_GEMM2
    {combine<float>, combine<Bf16>, combine<F16>, combine<Field>},                      // MD_OP_COMBINE
    any(shared_gemm1),                                                                  // MD_OP_SHARED_GEMM1
    kActivation,                                                                        // MD_OP_SHARED_ACTIVATION
    any(shared_gemm2),                                                                  // MD_OP_SHARED_GEMM2
    {scale_add<float>, scale_add<Bf16>, scale_add<F16>, scale_add<Field>},              // MD_OP_SCALE_ADD
    {residual_add<float>, residual_add<Bf16>, residual_add<F16>, residual_add<Field>},  // MD_OP_RESIDUAL_ADD
    {weigh_input<float>, weigh_input<Bf16>, weigh_input<F16>, weigh_input<Field>},      // MD_OP_WEIGH_INPUT
    any(quantize),                                                                      // MD_OP_QUANTIZE_A1
    any(quantize),                                                                      // MD_OP_QUANTIZE_A2
    any(activation_quantize),                                                           // MD_OP_ACTIVATION_QUANTIZE
    any(quantize),                                                                      // MD_OP_SHARED_QUANTIZE_A1
    any(quantize),                                                                      // MD_OP_SHARED_QUANTIZE_A2
    any(activation_quantize),              // ..._SHARED_ACTIVATION_QUANTIZE
    {convert, nullptr, nullptr, nullptr},  // MD_OP_CONVERT
};

}  // namespace moediff::kernels
