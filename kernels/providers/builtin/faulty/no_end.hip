// Variants that do not come to an end: a crash, an endless loop, threads that wait for each other.
#include "kernels/providers/builtin/faulty/faulty.h"

namespace moediff::kernels {

// The sanitizer that would end the process first is told to look away: the runtime's own handler is what this tests.
__global__ __attribute__((no_sanitize("undefined"))) void crash_kernel() {
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}

__global__ void hang_kernel() {
  volatile bool forever = true;
  while (forever) {
  }
}

/// Odd threads wait at a barrier that the even ones never reach, as those wait for a value from the odd ones.
__global__ void barrier_divergence_kernel(int* unused) {
  if (threadIdx.x % 2 == 1) {
    __syncthreads();
  } else if (__shfl(1, 1) == 0) {
    *unused = 0;
  }
}

template <typename T>
int activation_crash(const OpCall& call) {
  hipLaunchKernelGGL(crash_kernel, dim3(1), dim3(1), 0, call.stream);
  HIP_CHECK(hipGetLastError());
  return 0;
}

template <typename T>
int activation_hang(const OpCall& call) {
  hipLaunchKernelGGL(hang_kernel, dim3(1), dim3(1), 0, call.stream);
  HIP_CHECK(hipGetLastError());
  return 0;
}

template <typename T>
int activation_barrier_divergence(const OpCall& call) {
  hipLaunchKernelGGL(barrier_divergence_kernel, dim3(1), dim3(kThreads), 0, call.stream,
                     call.data<int>(MD_SHARED_ACTIVATION_OUT));
  HIP_CHECK(hipGetLastError());
  return 0;
}

template int activation_crash<float>(const OpCall&);
template int activation_crash<Bf16>(const OpCall&);
template int activation_hang<float>(const OpCall&);
template int activation_hang<Bf16>(const OpCall&);
template int activation_barrier_divergence<float>(const OpCall&);
template int activation_barrier_divergence<Bf16>(const OpCall&);

}  // namespace moediff::kernels
