// scale_add, residual_add and weigh_input: elementwise, a run of columns a thread. Each element is read before it is
// written by the same thread, so they may run in place.
#include "kernels/combine/combine.h"
#include "kernels/hip/elementwise.h"
#include "kernels/hip/formats.h"

namespace moediff::kernels {

/// Calls element(row, column) for the elements of this thread.
template <typename Element>
__device__ inline void each_element(std::int64_t rows, std::int64_t columns, Element element) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < columns; ++c) element(r, c);
  }
}

/// As if stored in T.
template <typename T>
__device__ inline Wide<T> stored(Wide<T> x) {
  return widen(narrow<T>(x));
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    scale_add_kernel(Matrix<const T> routed, Matrix<const T> shared, Wide<T> factor, Matrix<T> out) {
  each_element(out.rows, out.columns, [&](std::int64_t r, std::int64_t c) {
    const Wide<T> scaled = stored<T>(factor * widen(routed.row(r)[c]));
    out.row(r)[c] = narrow<T>(shared.data == nullptr ? scaled : scaled + widen(shared.row(r)[c]));
  });
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    residual_add_kernel(Matrix<const T> moe, Matrix<const T> hidden, Matrix<T> out) {
  each_element(out.rows, out.columns, [&](std::int64_t r, std::int64_t c) {
    out.row(r)[c] = narrow<T>(widen(moe.row(r)[c]) + widen(hidden.row(r)[c]));
  });
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    weigh_input_kernel(Matrix<const T> x, Matrix<const Wide<T>> weights, Matrix<T> out) {
  each_element(out.rows, out.columns, [&](std::int64_t r, std::int64_t c) {
    out.row(r)[c] = narrow<T>(stored<T>(weights.row(r)[0]) * widen(x.row(r)[c]));
  });
}

template <typename T>
hipError_t launch_scale_add(Matrix<const T> routed, Matrix<const T> shared, Wide<T> factor, Matrix<T> out,
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

template <typename T>
hipError_t launch_weigh_input(Matrix<const T> x, Matrix<const Wide<T>> weights, Matrix<T> out, hipStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((weigh_input_kernel<T>), elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream, x,
                     weights, out);
  return hipGetLastError();
}

template hipError_t launch_scale_add(Matrix<const float>, Matrix<const float>, float, Matrix<float>, hipStream_t);
template hipError_t launch_scale_add(Matrix<const Bf16>, Matrix<const Bf16>, float, Matrix<Bf16>, hipStream_t);
template hipError_t launch_scale_add(Matrix<const F16>, Matrix<const F16>, float, Matrix<F16>, hipStream_t);
template hipError_t launch_scale_add(Matrix<const Field>, Matrix<const Field>, Field, Matrix<Field>, hipStream_t);
template hipError_t launch_residual_add(Matrix<const float>, Matrix<const float>, Matrix<float>, hipStream_t);
template hipError_t launch_residual_add(Matrix<const Bf16>, Matrix<const Bf16>, Matrix<Bf16>, hipStream_t);
template hipError_t launch_residual_add(Matrix<const F16>, Matrix<const F16>, Matrix<F16>, hipStream_t);
template hipError_t launch_residual_add(Matrix<const Field>, Matrix<const Field>, Matrix<Field>, hipStream_t);
template hipError_t launch_weigh_input(Matrix<const float>, Matrix<const float>, Matrix<float>, hipStream_t);
template hipError_t launch_weigh_input(Matrix<const Bf16>, Matrix<const float>, Matrix<Bf16>, hipStream_t);
template hipError_t launch_weigh_input(Matrix<const F16>, Matrix<const float>, Matrix<F16>, hipStream_t);
template hipError_t launch_weigh_input(Matrix<const Field>, Matrix<const Field>, Matrix<Field>, hipStream_t);

}  // namespace moediff::kernels
