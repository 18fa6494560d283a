// Launch of the expert selection: one block a token.
#include "kernels/router/router_kernel.h"

namespace moediff::kernels {

__global__ void __launch_bounds__(kThreads)
    select_experts_kernel(Matrix<const float> logits, const float* bias, RouterPolicy policy, Matrix<std::int32_t> ids,
                          Matrix<float> weights) {
  HIP_DYNAMIC_SHARED(float, memory)
  const std::int64_t t = blockIdx.x;
  select_experts(logits.row(t), bias, logits.columns, policy, router_scratch(memory, logits.columns, policy),
                 ids.row(t), weights.row(t), [&](int rank) { return rank < policy.top_k ? rank : -1; });
}

hipError_t launch_select_experts(Matrix<const float> logits, const float* bias, const RouterPolicy& policy,
                                 Matrix<std::int32_t> ids, Matrix<float> weights, hipStream_t stream) {
  if (logits.rows == 0) return hipSuccess;
  hipLaunchKernelGGL(select_experts_kernel, dim3(static_cast<unsigned>(logits.rows)), dim3(kThreads),
                     router_scratch_bytes(logits.columns, policy), stream, logits, bias, policy, ids, weights);
  return hipGetLastError();
}

}  // namespace moediff::kernels
