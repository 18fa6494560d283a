// One scale for the whole tensor, in four launches: the scale's own memory is first the measure of all elements, joined
// block by block with integer atomics (so that a NaN is kept and no order shows), and becomes the scale when all codes
// are written.
#include "kernels/quant/quantize_kernel.h"
#include "kernels/quant/quantize_tensor.h"

namespace moediff::kernels {

__device__ inline void join_atomically(unsigned* to, unsigned measure) { atomicMax(to, measure); }
__device__ inline void join_atomically(unsigned long long* to, unsigned long long measure) {
  unsigned long long before = *to, found;
  while ((found = atomicCAS(to, before, joined(before, measure))) != before) before = found;
}

template <typename Acc>
__device__ Measure<Acc>* measure_in(const Quantize& job) {
  return static_cast<Measure<Acc>*>(job.scales);
}

/// Rows of a tensor as one block's work.
__device__ inline Segment whole_row(const Quantize& job, std::int64_t row) { return {row, 0, job.columns}; }

template <typename Acc>
__global__ void reset_measure_kernel(Quantize job) {
  *measure_in<Acc>(job) = 0;
}

template <typename Acc>
__global__ void __launch_bounds__(kThreads) measure_rows_kernel(Quantize job) {
  const int thread = static_cast<int>(threadIdx.x);
  const Measure<Acc> measure = joined_in_block(measure_runs<Acc>(job, whole_row(job, blockIdx.x), thread, kThreads));
  if (thread == 0) join_atomically(measure_in<Acc>(job), measure);
}

template <typename Acc>
__global__ void __launch_bounds__(kThreads) code_rows_kernel(Quantize job) {
  const Coder<Acc> coder(job.policy, *measure_in<Acc>(job));
  code_runs(job, whole_row(job, blockIdx.x), static_cast<int>(threadIdx.x), kThreads, coder);
}

template <typename Acc>
__global__ void measure_to_scale_kernel(Quantize job) {
  const Coder<Acc> coder(job.policy, *measure_in<Acc>(job));
  *measure_in<Acc>(job) = std::bit_cast<Measure<Acc>>(coder.scale());
}

template <typename Acc>
hipError_t launch_quantize_tensor(const Quantize& job, hipStream_t stream) {
  const dim3 rows(static_cast<unsigned>(job.rows));
  hipLaunchKernelGGL((reset_measure_kernel<Acc>), dim3(1), dim3(1), 0, stream, job);
  if (job.rows > 0 && job.columns > 0) {
    hipLaunchKernelGGL((measure_rows_kernel<Acc>), rows, dim3(kThreads), 0, stream, job);
    hipLaunchKernelGGL((code_rows_kernel<Acc>), rows, dim3(kThreads), 0, stream, job);
  }
  hipLaunchKernelGGL((measure_to_scale_kernel<Acc>), dim3(1), dim3(1), 0, stream, job);
  return hipGetLastError();
}

template hipError_t launch_quantize_tensor<float>(const Quantize&, hipStream_t);
template hipError_t launch_quantize_tensor<Field>(const Quantize&, hipStream_t);

}  // namespace moediff::kernels
