// A matrix in device memory, by value into kernels.
#pragma once

#include "kernels/hip/platform.h"

namespace moediff::kernels {

/// Rows need not be adjacent: a row begins every `stride` elements; its columns are adjacent.
template <typename T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;

  __host__ __device__ T* row(std::int64_t r) const { return data + r * stride; }
};

}  // namespace moediff::kernels
