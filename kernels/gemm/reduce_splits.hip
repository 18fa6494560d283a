// Launch of the reduction after a split-K GEMM.
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/reduce_kernel.h"
#include "kernels/hip/elementwise.h"

namespace moediff::kernels {

template <typename Out>
__global__ void __launch_bounds__(kThreads)
    reduce_splits_kernel(Matrix<const float> partial, int splits, std::int64_t split_stride, Matrix<Out> out) {
  reduce_splits(partial, splits, split_stride, out);
}

template <typename Out>
hipError_t launch_reduce_splits(Matrix<const float> partial, int splits, std::int64_t split_stride, Matrix<Out> out,
                                hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((reduce_splits_kernel<Out>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream,
                     partial, splits, split_stride, out);
  return hipGetLastError();
}

template hipError_t launch_reduce_splits(Matrix<const float>, int, std::int64_t, Matrix<float>, hipStream_t);
template hipError_t launch_reduce_splits(Matrix<const float>, int, std::int64_t, Matrix<Bf16>, hipStream_t);

}  // namespace moediff::kernels
