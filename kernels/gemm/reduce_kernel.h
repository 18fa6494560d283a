// The second half of a split-K GEMM: adds the partial sums of an element in the order of their K ranges.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/hip/elementwise.h"
#include "kernels/hip/formats_any.h"

namespace moediff::kernels {

/// The body of the kernel; elementwise grid over the output of `gemm`, whose partial sums `split` wrote.
template <typename Acc>
__device__ void reduce_splits(const Gemm& split, const Gemm& gemm) {
  const std::int64_t begin = first_column();
  const std::int64_t end = begin + kRun < gemm.columns ? begin + kRun : gemm.columns;
  for (std::int64_t r = blockIdx.y; r < gemm.rows; r += gridDim.y) {
    const Acc* partial = static_cast<const Acc*>(split.out) + r * split.out_stride;
    with_model_element<Acc>(gemm.out_dtype, [&](auto element) {
      using Out = decltype(element);
      Out* out = static_cast<Out*>(gemm.out) + r * gemm.out_stride;
      for (std::int64_t c = begin; c < end; ++c) {
        Acc sum = partial[c];
        for (int s = 1; s < split.splits; ++s) sum = sum + partial[s * split.split_stride + c];
        out[c] = narrow<Out>(sum);
      }
    });
  }
}

}  // namespace moediff::kernels
