// Launch of the combine kernel.
#include "kernels/combine/combine_kernel.h"
#include "kernels/hip/formats.h"

namespace moediff::kernels {

template <typename T, typename Rule>
__global__ void __launch_bounds__(kThreads) combine_kernel(Matrix<const T> in, Slots<T> slots, Matrix<T> out) {
  const std::int64_t begin = first_column();
  if (begin >= out.columns) return;
  const int count = static_cast<int>(out.columns - begin < kRun ? out.columns - begin : kRun);
  for (std::int64_t t = blockIdx.y; t < out.rows; t += gridDim.y) {
    combine_run<T, Rule>(in, slots, t, begin, count, out.row(t));
  }
}

template <typename T>
hipError_t launch_combine(Matrix<const T> in, const Slots<T>& slots, bool moe_sum, Matrix<T> out, hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  const dim3 grid = elementwise_grid(out.rows, out.columns);
  if (sums_in_model_dtype(moe_sum, slots.width)) {
    hipLaunchKernelGGL((combine_kernel<T, SumRounded<T>>), grid, dim3(kThreads), 0, stream, in, slots, out);
  } else {
    hipLaunchKernelGGL((combine_kernel<T, SumOnce<T>>), grid, dim3(kThreads), 0, stream, in, slots, out);
  }
  return hipGetLastError();
}

template hipError_t launch_combine(Matrix<const float>, const Slots<float>&, bool, Matrix<float>, hipStream_t);
template hipError_t launch_combine(Matrix<const Bf16>, const Slots<Bf16>&, bool, Matrix<Bf16>, hipStream_t);
template hipError_t launch_combine(Matrix<const F16>, const Slots<F16>&, bool, Matrix<F16>, hipStream_t);
template hipError_t launch_combine(Matrix<const Field>, const Slots<Field>&, bool, Matrix<Field>, hipStream_t);

}  // namespace moediff::kernels
