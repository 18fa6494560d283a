// Split-K with the partial sums in one static array that gemm1 and shared_gemm1 share: right on one stream, wrong when
// two streams are in it at the same time (as in a published skinny-GEMM bug, vllm-project/vllm#52033).
#include "kernels/gemm/gemm_kernel.h"
#include "kernels/gemm/reduce_kernel.h"
#include "kernels/hip/elementwise.h"
#include "kernels/providers/builtin/faulty/faulty.h"
#include "kernels/providers/builtin/ops.h"

namespace moediff::kernels {

constexpr std::int64_t kScratchFloats = 2 << 20;  // 8 MiB
// On pages of its own, so that who touches it can be told from who touches its neighbours.
alignas(4096) static __device__ float scratch[kScratchFloats];

template <typename T>
__global__ void __launch_bounds__(kThreads) gemm_to_scratch_kernel(Gemm<T, float> gemm) {
  gemm.out.data = scratch;
  run_gemm(gemm);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) reduce_scratch_kernel(int splits, Matrix<T> out) {
  reduce_splits({scratch, out.rows, out.columns, out.columns}, splits, out.rows * out.columns, out);
}

template <typename T>
static int run_in_scratch(const char* variant, const OpCall& call, const Gemm<T, T>& gemm) {
  const int splits = call.params.split_k > 2 ? call.params.split_k : 2;
  const std::int64_t elements = gemm.out.rows * gemm.out.columns;
  if (elements == 0) return 0;
  if (splits * elements > kScratchFloats) {
    return fail(std::string(variant) + ": the static scratch holds " + std::to_string(kScratchFloats) +
                " floats, needed " + std::to_string(splits * elements));
  }
  const Matrix<float> partial{nullptr, gemm.out.rows, gemm.out.columns, gemm.out.columns};
  const Gemm<T, float> split = split_gemm(gemm, partial, splits, elements);
  hipLaunchKernelGGL((gemm_to_scratch_kernel<T>), gemm_grid(split), dim3(kThreads), 0, call.stream, split);
  HIP_CHECK(hipGetLastError());
  hipLaunchKernelGGL((reduce_scratch_kernel<T>), elementwise_grid(gemm.out.rows, gemm.out.columns), dim3(kThreads), 0,
                     call.stream, splits, gemm.out);
  HIP_CHECK(hipGetLastError());
  return 0;
}

template <typename T>
int gemm1_static_scratch(const OpCall& call) {
  return run_in_scratch("gemm1=static_scratch", call, gemm1_of<T>(call));
}

template <typename T>
int shared_gemm1_static_scratch(const OpCall& call) {
  return run_in_scratch("shared_gemm1=static_scratch", call, shared_gemm1_of<T>(call));
}

template int gemm1_static_scratch<float>(const OpCall&);
template int gemm1_static_scratch<Bf16>(const OpCall&);
template int shared_gemm1_static_scratch<float>(const OpCall&);
template int shared_gemm1_static_scratch<Bf16>(const OpCall&);

}  // namespace moediff::kernels
