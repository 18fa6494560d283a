// Variants whose only fault is what they compute.
#include "kernels/combine/combine_kernel.h"
#include "kernels/providers/builtin/faulty/faulty.h"
#include "kernels/providers/builtin/gemm_ops.h"
#include "kernels/providers/builtin/ops.h"
#include "kernels/router/router_kernel.h"

namespace moediff::kernels {

/// The expert in place top_k takes the last column, in which the one in place top_k - 1 belongs.
template <typename T, typename L>
__global__ void __launch_bounds__(kThreads)
    select_wrong_expert_kernel(Matrix<const L> logits, const float* bias, RouterPolicy policy, Matrix<std::int32_t> ids,
                               Matrix<float> weights) {
  HIP_DYNAMIC_SHARED(float, memory)
  const std::int64_t t = blockIdx.x;
  const int last = policy.top_k - 1;
  select_experts<T>(logits.row(t), bias, logits.columns, policy, router_scratch(memory, logits.columns, policy),
                    ids.row(t), weights.row(t), [&](int rank) {
                      return rank < last ? rank : rank == last + 1 ? last : -1;
                    });
}

template <typename T, typename L>
static int select_wrong_expert(const OpCall& call) {
  const Matrix<const L> logits = call.matrix<const L>(MD_ROUTER_LOGITS);
  const RouterPolicy policy = router_policy(call.params);
  hipLaunchKernelGGL((select_wrong_expert_kernel<T, L>), dim3(static_cast<unsigned>(logits.rows)), dim3(kThreads),
                     router_scratch_bytes(logits.columns, policy), call.stream, logits,
                     call.has(MD_ROUTER_BIAS) ? call.data<const float>(MD_ROUTER_BIAS) : nullptr, policy,
                     call.matrix<std::int32_t>(MD_ROUTER_IDS), call.matrix<float>(MD_ROUTER_WEIGHTS));
  HIP_CHECK(hipGetLastError());
  return 0;
}

/// Right logits, wrong selection.
template <typename T>
int router_wrong_expert(const OpCall& call) {
  const md_tensor& logits = call.tensors[MD_ROUTER_LOGITS];
  if (logits.shape[1] <= call.params.top_k) return fail("router=wrong_expert: needs more experts than top_k");
  if (const int status = run_correct<T>(MD_OP_ROUTER, call); status != 0 || logits.shape[0] == 0) return status;
  return logits.dtype == MD_F32 ? select_wrong_expert<T, float>(call) : select_wrong_expert<T, T>(call);
}

/// Leaves out the last product of every sum, as a kernel with a wrong loop bound does.
template <typename T>
int gemm2_wrong_math(const OpCall& call) {
  Gemm gemm = gemm2_of(call);
  gemm.k -= gemm.k > 0 ? 1 : 0;
  HIP_CHECK(launch_gemm(gemm, call.stream));
  return 0;
}

/// The slots from last to first, and a sum that is 2^-7 too large: visible after rounding to bf16.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    combine_backwards_kernel(Matrix<const T> in, const std::int32_t* slot_rows, std::int64_t width,
                             Matrix<const float> weights, Matrix<T> out) {
  const std::int64_t begin = first_column();
  for (std::int64_t t = blockIdx.y; t < out.rows; t += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) {
      float sum = 0.0f;
      for (std::int64_t j = width; j-- > 0;) {
        const std::int64_t r = slot_rows[t * width + j];
        const float weight = weights.data == nullptr ? 1.0f : weights.row(t)[j];
        if (r >= 0 && r < in.rows) sum = fmaf(weight, to_float(in.row(r)[c]), sum);
      }
      out.row(t)[c] = from_float<T>(sum * (1.0f + 0x1p-7f));
    }
  }
}

/// Each second call is wrong.
template <typename T>
int combine_nondeterministic(const OpCall& call) {
  if (call.history->combine_calls % 2 == 0) return run_correct<T>(MD_OP_COMBINE, call);
  const Matrix<T> out = call.matrix<T>(MD_COMBINE_OUT);
  if (out.rows == 0 || out.columns == 0) return 0;
  hipLaunchKernelGGL((combine_backwards_kernel<T>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0,
                     call.stream, call.matrix<const T>(MD_COMBINE_IN), call.data<const std::int32_t>(MD_COMBINE_ROWS),
                     call.size(MD_COMBINE_ROWS, 0) / out.rows, call.matrix_or_none<const float>(MD_COMBINE_WEIGHTS),
                     out);
  HIP_CHECK(hipGetLastError());
  return 0;
}

template int router_wrong_expert<float>(const OpCall&);
template int router_wrong_expert<Bf16>(const OpCall&);
template int gemm2_wrong_math<float>(const OpCall&);
template int gemm2_wrong_math<Bf16>(const OpCall&);
template int combine_nondeterministic<float>(const OpCall&);
template int combine_nondeterministic<Bf16>(const OpCall&);

}  // namespace moediff::kernels
