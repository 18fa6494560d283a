// The weighted sum of a token's slots: elementwise over [T, H], a run of columns a thread, which keeps its sums in
// registers while it goes through the slots.
#pragma once

#include "kernels/hip/bf16.h"
#include "kernels/hip/elementwise.h"
#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// One run of a token's output. The order of the slots is part of the contract: fp32 addition is not associative.
template <typename T>
__device__ inline void combine_run(Matrix<const T> in, const std::int32_t* slot_rows, const float* weights,
                                   std::int64_t width, std::int64_t begin, int count, T* out) {
  float sum[kRun] = {};
  for (std::int64_t j = 0; j < width; ++j) {
    const std::int64_t r = slot_rows[j];
    if (r < 0 || r >= in.rows) continue;
    const T* row = in.row(r) + begin;
    for (int i = 0; i < count; ++i) sum[i] = fmaf(weights[j], to_float(row[i]), sum[i]);
  }
  for (int i = 0; i < count; ++i) out[begin + i] = from_float<T>(sum[i]);
}

}  // namespace moediff::kernels
