// The gated activation: elementwise, a run of columns a thread.
#include "kernels/activation/activation.h"
#include "kernels/hip/elementwise.h"
#include "kernels/hip/formats.h"

namespace moediff::kernels {

template <typename T>
__global__ void __launch_bounds__(kThreads) activation_kernel(Matrix<const T> in, Gating gating, Matrix<T> out) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < out.rows; r += gridDim.y) {
    const T* gate = in.row(r);
    const T* up = gate + out.columns;
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) {
      out.row(r)[c] = gated_element(gating, gate[c], up[c]);
    }
  }
}

template <typename T>
hipError_t launch_activation(Matrix<const T> in, const Gating& gating, Matrix<T> out, hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((activation_kernel<T>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream, in,
                     gating, out);
  return hipGetLastError();
}

template hipError_t launch_activation(Matrix<const float>, const Gating&, Matrix<float>, hipStream_t);
template hipError_t launch_activation(Matrix<const Bf16>, const Gating&, Matrix<Bf16>, hipStream_t);
template hipError_t launch_activation(Matrix<const F16>, const Gating&, Matrix<F16>, hipStream_t);
template hipError_t launch_activation(Matrix<const Field>, const Gating&, Matrix<Field>, hipStream_t);

}  // namespace moediff::kernels
