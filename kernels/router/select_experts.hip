// Launch of the expert selection: one block a token.
#include "kernels/hip/formats.h"
#include "kernels/router/router_kernel.h"

namespace moediff::kernels {

RouterPolicy router_policy(const md_params& p) {
  return {.top_k = p.top_k,
          .n_group = p.n_group,
          .topk_group = p.topk_group,
          .norm_topk_prob = p.norm_topk_prob != 0,
          .factor = p.factor,
          .norm_epsilon = p.norm_epsilon,
          .scoring = p.scoring,
          .group_score = p.group_score,
          .mask = p.mask,
          .weight_from = p.weight_from,
          .round_score = p.scores_in == MD_IN_MODEL,
          .round_bias = p.bias_in == MD_IN_MODEL,
          .round_choice = p.choice_in == MD_IN_MODEL,
          .round_weight = p.weights_in == MD_IN_MODEL,
          .uniform_fallback = p.not_finite == MD_NOT_FINITE_UNIFORM};
}

template <typename T, typename L>
__global__ void __launch_bounds__(kThreads)
    select_experts_kernel(Matrix<const L> logits, const float* bias, RouterPolicy policy, Matrix<std::int32_t> ids,
                          Matrix<float> weights) {
  HIP_DYNAMIC_SHARED(float, memory)
  const std::int64_t t = blockIdx.x;
  select_experts<T>(logits.row(t), bias, logits.columns, policy, router_scratch(memory, logits.columns, policy),
                    ids.row(t), weights.row(t), [&](int rank) { return rank < policy.top_k ? rank : -1; });
}

template <typename T, typename L>
hipError_t launch_select_experts(Matrix<const L> logits, const float* bias, const RouterPolicy& policy,
                                 Matrix<std::int32_t> ids, Matrix<float> weights, hipStream_t stream) {
  if (logits.rows == 0) return hipSuccess;
  hipLaunchKernelGGL((select_experts_kernel<T, L>), dim3(static_cast<unsigned>(logits.rows)), dim3(kThreads),
                     router_scratch_bytes(logits.columns, policy), stream, logits, bias, policy, ids, weights);
  return hipGetLastError();
}

template hipError_t launch_select_experts<float>(Matrix<const float>, const float*, const RouterPolicy&,
                                                 Matrix<std::int32_t>, Matrix<float>, hipStream_t);
template hipError_t launch_select_experts<Bf16>(Matrix<const float>, const float*, const RouterPolicy&,
                                                Matrix<std::int32_t>, Matrix<float>, hipStream_t);
template hipError_t launch_select_experts<F16>(Matrix<const float>, const float*, const RouterPolicy&,
                                               Matrix<std::int32_t>, Matrix<float>, hipStream_t);
template hipError_t launch_select_experts<Bf16>(Matrix<const Bf16>, const float*, const RouterPolicy&,
                                                Matrix<std::int32_t>, Matrix<float>, hipStream_t);
template hipError_t launch_select_experts<F16>(Matrix<const F16>, const float*, const RouterPolicy&,
                                               Matrix<std::int32_t>, Matrix<float>, hipStream_t);

}  // namespace moediff::kernels
