// Quantisation with a scale a group or a row: one thread a short group, one block a long one. Which of them does it
// changes no bit, as a measure does not depend on the order of its elements.
#include "kernels/quant/quantize_kernel.h"
#include "kernels/quant/quantize_tensor.h"

namespace moediff::kernels {

/// A thread's share of a group that a block works at; a group of one share is a thread's.
constexpr std::int64_t kLongGroup = 512;

template <typename Acc>
__device__ void store_scale(const Quantize& job, const Segment& segment, Acc scale) {
  static_cast<Acc*>(job.scales)[segment.row * job.scale_stride + segment.first / job.group] = scale;
}

template <typename Acc>
__global__ void __launch_bounds__(kThreads) quantize_short_kernel(Quantize job, std::int64_t groups) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= job.rows * groups) return;
  const Segment segment = segment_at(job, groups, index);
  const Coder<Acc> coder(job.policy, measure_runs<Acc>(job, segment, 0, 1));
  store_scale(job, segment, coder.scale());
  code_runs(job, segment, 0, 1, coder);
}

template <typename Acc>
__global__ void __launch_bounds__(kThreads) quantize_long_kernel(Quantize job, std::int64_t groups) {
  const int thread = static_cast<int>(threadIdx.x);
  const Segment segment = segment_at(job, groups, blockIdx.x);
  const Coder<Acc> coder(job.policy, joined_in_block(measure_runs<Acc>(job, segment, thread, kThreads)));
  if (thread == 0) store_scale(job, segment, coder.scale());
  code_runs(job, segment, thread, kThreads, coder);
}

template <typename Acc>
static hipError_t launch(Quantize job, hipStream_t stream) {
  if (job.scope == ScaleScope::tensor) return launch_quantize_tensor<Acc>(job, stream);
  if (job.scope == ScaleScope::row) job.group = job.columns > 0 ? job.columns : 1;
  // A row without elements still has a scale.
  const std::int64_t groups = job.scope == ScaleScope::row ? 1 : ceil_divide(job.columns, job.group);
  const std::int64_t segments = job.rows * groups;
  if (segments == 0) return hipSuccess;
  if (job.group > kLongGroup) {
    hipLaunchKernelGGL((quantize_long_kernel<Acc>), dim3(static_cast<unsigned>(segments)), dim3(kThreads), 0, stream,
                       job, groups);
  } else {
    hipLaunchKernelGGL((quantize_short_kernel<Acc>), dim3(static_cast<unsigned>(ceil_divide(segments, kThreads))),
                       dim3(kThreads), 0, stream, job, groups);
  }
  return hipGetLastError();
}

hipError_t launch_quantize(const Quantize& job, hipStream_t stream) {
  return job.in_dtype == MD_FIELD ? launch<Field>(job, stream) : launch<float>(job, stream);
}

}  // namespace moediff::kernels
