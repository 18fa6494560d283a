// Launch of the reduction after a split-K GEMM.
#include "kernels/gemm/reduce_kernel.h"

namespace moediff::kernels {

template <typename Acc>
__global__ void __launch_bounds__(kThreads) reduce_splits_kernel(Gemm split, Gemm gemm) {
  reduce_splits<Acc>(split, gemm);
}

hipError_t launch_reduce_splits(const Gemm& split, const Gemm& gemm, hipStream_t stream) {
  if (gemm.rows == 0 || gemm.columns == 0) return hipSuccess;
  const dim3 grid = elementwise_grid(gemm.rows, gemm.columns);
  if (gemm.a_dtype == MD_FIELD) {
    hipLaunchKernelGGL((reduce_splits_kernel<Field>), grid, dim3(kThreads), 0, stream, split, gemm);
  } else {
    hipLaunchKernelGGL((reduce_splits_kernel<float>), grid, dim3(kThreads), 0, stream, split, gemm);
  }
  return hipGetLastError();
}

}  // namespace moediff::kernels
