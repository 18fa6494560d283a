// The second half of a split-K GEMM: adds the partial sums of an element in the order of their K ranges.
#pragma once

#include "kernels/hip/bf16.h"
#include "kernels/hip/elementwise.h"
#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// The body of the kernel; elementwise grid over `out`.
template <typename Out>
__device__ void reduce_splits(Matrix<const float> partial, int splits, std::int64_t split_stride, Matrix<Out> out) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < out.rows; r += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) {
      float sum = partial.row(r)[c];
      for (int s = 1; s < splits; ++s) sum += partial.row(r)[s * split_stride + c];
      out.row(r)[c] = from_float<Out>(sum);
    }
  }
}

}  // namespace moediff::kernels
