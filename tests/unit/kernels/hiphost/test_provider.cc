#include "tests/unit/kernels/hiphost/test_provider.h"

#include "kernels/hiphost/include/hip/hip_runtime.h"

namespace moediff::hiphost::test_provider {
namespace {

__device__ float static_scratch[kScratchFloats];

__global__ void write_one(std::size_t index) { static_scratch[index] = 1.0f; }
__global__ void read_one(std::size_t index, float* out) { *out = static_scratch[index]; }

}  // namespace

float* scratch() { return static_scratch; }

void write_scratch(std::size_t index) { hipLaunchKernelGGL(write_one, 1, 1, 0, nullptr, index); }
void read_scratch(std::size_t index, float* out) { hipLaunchKernelGGL(read_one, 1, 1, 0, nullptr, index, out); }

float* own_allocation(std::size_t floats) {
  float* pointer = nullptr;
  return hipMalloc(&pointer, floats * sizeof(float)) == hipSuccess ? pointer : nullptr;
}

}  // namespace moediff::hiphost::test_provider
