// silu_and_mul: elementwise, a run of columns a thread.
#include "kernels/activation/activation.h"
#include "kernels/hip/bf16.h"
#include "kernels/hip/elementwise.h"

namespace moediff::kernels {

/// x * sigmoid(x). For very negative x expf overflows to infinity and the quotient is -0, its limit.
__device__ inline float silu(float x) { return x / (1.0f + expf(-x)); }

template <typename T>
__global__ void __launch_bounds__(kThreads) silu_and_mul_kernel(Matrix<const T> in, Matrix<T> out) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < out.rows; r += gridDim.y) {
    const T* gate = in.row(r);
    const T* up = gate + out.columns;
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) {
      out.row(r)[c] = from_float<T>(rounded_to<T>(silu(to_float(gate[c]))) * to_float(up[c]));
    }
  }
}

template <typename T>
hipError_t launch_silu_and_mul(Matrix<const T> in, Matrix<T> out, hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((silu_and_mul_kernel<T>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream, in,
                     out);
  return hipGetLastError();
}

template hipError_t launch_silu_and_mul(Matrix<const float>, Matrix<float>, hipStream_t);
template hipError_t launch_silu_and_mul(Matrix<const Bf16>, Matrix<Bf16>, hipStream_t);

}  // namespace moediff::kernels
