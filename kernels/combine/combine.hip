// Launch of the combine kernel.
#include "kernels/combine/combine.h"
#include "kernels/combine/combine_kernel.h"
#include "kernels/hip/elementwise.h"

namespace moediff::kernels {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    combine_kernel(Matrix<const T> in, const std::int32_t* slot_rows, Matrix<const float> weights, Matrix<T> out) {
  const std::int64_t begin = first_column();
  if (begin >= out.columns) return;
  const int count = static_cast<int>(out.columns - begin < kRun ? out.columns - begin : kRun);
  for (std::int64_t t = blockIdx.y; t < out.rows; t += gridDim.y) {
    combine_run(in, slot_rows + t * weights.columns, weights.row(t), weights.columns, begin, count, out.row(t));
  }
}

template <typename T>
hipError_t launch_combine(Matrix<const T> in, const std::int32_t* slot_rows, Matrix<const float> weights, Matrix<T> out,
                          hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((combine_kernel<T>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream, in,
                     slot_rows, weights, out);
  return hipGetLastError();
}

template hipError_t launch_combine(Matrix<const float>, const std::int32_t*, Matrix<const float>, Matrix<float>,
                                   hipStream_t);
template hipError_t launch_combine(Matrix<const Bf16>, const std::int32_t*, Matrix<const float>, Matrix<Bf16>,
                                   hipStream_t);

}  // namespace moediff::kernels
