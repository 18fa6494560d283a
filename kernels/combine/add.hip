// scale_add and residual_add: elementwise, a run of columns a thread. Each element is read before it is written by the
// same thread, so both may run in place.
#include "kernels/combine/combine.h"
#include "kernels/hip/bf16.h"
#include "kernels/hip/elementwise.h"

namespace moediff::kernels {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    scale_add_kernel(Matrix<const T> routed, Matrix<const T> shared, float factor, Matrix<T> out) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < out.rows; r += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) {
      const float scaled = rounded_to<T>(factor * to_float(routed.row(r)[c]));
      out.row(r)[c] = from_float<T>(shared.data == nullptr ? scaled : scaled + to_float(shared.row(r)[c]));
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    residual_add_kernel(Matrix<const T> moe, Matrix<const T> hidden, Matrix<T> out) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < out.rows; r += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) {
      out.row(r)[c] = from_float<T>(to_float(moe.row(r)[c]) + to_float(hidden.row(r)[c]));
    }
  }
}

template <typename T>
hipError_t launch_scale_add(Matrix<const T> routed, Matrix<const T> shared, float factor, Matrix<T> out,
                            hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((scale_add_kernel<T>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream, routed,
                     shared, factor, out);
  return hipGetLastError();
}

template <typename T>
hipError_t launch_residual_add(Matrix<const T> moe, Matrix<const T> hidden, Matrix<T> out, hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((residual_add_kernel<T>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream, moe,
                     hidden, out);
  return hipGetLastError();
}

template hipError_t launch_scale_add(Matrix<const float>, Matrix<const float>, float, Matrix<float>, hipStream_t);
template hipError_t launch_scale_add(Matrix<const Bf16>, Matrix<const Bf16>, float, Matrix<Bf16>, hipStream_t);
template hipError_t launch_residual_add(Matrix<const float>, Matrix<const float>, Matrix<float>, hipStream_t);
template hipError_t launch_residual_add(Matrix<const Bf16>, Matrix<const Bf16>, Matrix<Bf16>, hipStream_t);

}  // namespace moediff::kernels
