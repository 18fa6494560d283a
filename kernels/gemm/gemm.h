// GEMM launches: dense, grouped by expert, and split along K.
#pragma once

#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// out[r, n] = sum over k of a[source(r), k] * weights[expert(r), n, k], accumulated in fp32 by fmaf in ascending k.
/// With offsets (int32 [experts + 1]) row r belongs to the expert e with offsets[e] <= r < offsets[e+1]; without, all
/// rows to expert 0. With slots (int32 [rows]) source(r) = slots[r] / slots_per_token; without, source(r) = r. With
/// splits > 1, K is cut into `splits` equal ranges (the last one ragged), and range s writes its partial sums to out +
/// s * split_stride. Rows outside all experts, and rows whose K range is empty, are left alone resp. zero.
template <typename In, typename Out>
struct Gemm {
  Matrix<const In> a;
  const In* weights = nullptr;
  std::int64_t expert_stride = 0, weight_stride = 0, experts = 1;
  const std::int32_t* offsets = nullptr;
  const std::int32_t* slots = nullptr;
  std::int64_t slots_per_token = 1;
  Matrix<Out> out;
  std::int64_t k = 0;
  int splits = 1;
  std::int64_t split_stride = 0;
};

/// Instantiated for (float, float), (Bf16, Bf16) and (Bf16, float).
template <typename In, typename Out>
hipError_t launch_gemm(const Gemm<In, Out>& gemm, hipStream_t stream);

/// out[r, n] = round(partial[0][r, n] + partial[1][r, n] + ...), added in that order; `partial` holds out.rows rows a
/// split.
template <typename Out>
hipError_t launch_reduce_splits(Matrix<const float> partial, int splits, std::int64_t split_stride, Matrix<Out> out,
                                hipStream_t stream);

}  // namespace moediff::kernels
