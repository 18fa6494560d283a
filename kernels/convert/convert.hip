// Conversion between number formats, a run of elements a thread.
#include "kernels/convert/convert.h"
#include "kernels/hip/formats_any.h"

namespace moediff::kernels {

constexpr int kConvertRun = 64;

/// A conversion by the device itself, which rounds to nearest, ties to even.
__device__ inline float narrowed(double x, Overflow overflow) {
  const float rounded = static_cast<float>(x);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded);
  const bool overflowed = (bits & 0x7fffffffu) == 0x7f800000u && x - x == 0.0;
  return overflowed && overflow == Overflow::saturate ? std::bit_cast<float>(bits - 1) : rounded;
}

__device__ inline void load_floats(const void* from, int dtype, std::int64_t first, std::int64_t count,
                                   Overflow overflow, float (&x)[kConvertRun]) {
  if (dtype != MD_F64) return load_run<kConvertRun, 1>(from, dtype, first, count, x);
  const double* wide = static_cast<const double*>(from) + first;
  for (int i = 0; i < kConvertRun && i < count; ++i) x[i] = narrowed(wide[i], overflow);
}

__device__ inline void store_floats(void* to, int dtype, std::int64_t first, std::int64_t count, Overflow overflow,
                                    const float (&x)[kConvertRun]) {
  if (dtype == MD_F64) {
    double* wide = static_cast<double*>(to) + first;
    for (int i = 0; i < kConvertRun && i < count; ++i) wide[i] = x[i];
    return;
  }
  with_element<float>(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (!std::is_same_v<T, std::int8_t>) {
      T* out = static_cast<T*>(to) + first;
      for (int i = 0; i < kConvertRun && i < count; ++i) out[i] = from_float<T>(x[i], overflow);
    }
  });
}

__global__ void __launch_bounds__(kThreads)
    convert_kernel(const void* from, int from_dtype, void* to, int to_dtype, std::int64_t count, Overflow overflow) {
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kConvertRun;
  const std::int64_t left = count - first;
  if (left <= 0) return;
  float x[kConvertRun];
  load_floats(from, from_dtype, first, left, overflow, x);
  store_floats(to, to_dtype, first, left, overflow, x);
}

hipError_t launch_convert(const void* from, int from_dtype, void* to, int to_dtype, std::int64_t count, bool saturate,
                          hipStream_t stream) {
  if (count == 0) return hipSuccess;
  const dim3 grid(static_cast<unsigned>(ceil_divide(count, kThreads * kConvertRun)));
  hipLaunchKernelGGL(convert_kernel, grid, dim3(kThreads), 0, stream, from, from_dtype, to, to_dtype, count,
                     saturate ? Overflow::saturate : Overflow::special);
  return hipGetLastError();
}

}  // namespace moediff::kernels
