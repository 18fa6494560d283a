// Rows of weights, as numbers that a product takes: elements of any type, or packed codes; times their scales.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/hip/formats_any.h"

namespace moediff::kernels {

/// Number of a 4-bit code.
__device__ inline float nibble_value(WeightCode code, std::uint32_t nibble) {
  return code == WeightCode::int4 ? int4_to_float(nibble) : to_float(E2M1{static_cast<std::uint8_t>(nibble)});
}

/// to[i] = the code of element first + i, for i < count <= Count. Two elements a byte, the even one low.
template <int Count>
__device__ inline void unpack_run(const std::uint8_t* bytes, WeightCode code, std::int64_t first, std::int64_t count,
                                  float* to) {
  const std::uint8_t* from = bytes + first / 2;
  if (first % 2 == 0 && count >= Count && Count % 2 == 0) {
    for (int i = 0; i < Count / 2; ++i) {
      to[2 * i] = nibble_value(code, from[i] & 15u);
      to[2 * i + 1] = nibble_value(code, from[i] >> 4);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t k = first + i;
    to[i] = nibble_value(code, k % 2 == 0 ? bytes[k / 2] & 15u : bytes[k / 2] >> 4);
  }
}

/// to[i] = round(to[i] * scale of element first + i), for i < count. Every `group` elements of the row have one scale.
template <typename Acc>
__device__ inline void scale_run(const Gemm& gemm, std::int64_t scale_row, std::int64_t first, std::int64_t count,
                                 Acc* to) {
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t g = (first + i) / gemm.group, group_end = (g + 1) * gemm.group - first;
    const std::int64_t end = group_end < count ? group_end : count;
    const Acc scale = load_element<Acc>(gemm.weight_scales, gemm.weight_scale_dtype, scale_row + g);
    with_model_element<Acc>(gemm.round_weight_to, [&](auto element) {
      for (std::int64_t j = i; j < end; ++j) to[j] = widen(narrow<decltype(element)>(to[j] * scale));
    });
    i = end;
  }
}

/// to[i * stride + j] = weights[expert][n + i * step][first + j], for rows n + i * step < end and j < count <= Count.
struct WeightRows {
  std::int64_t expert, n, end;
  int step, stride;
};
template <int Count, typename Acc>
__device__ inline void load_weights(const Gemm& gemm, const WeightRows& rows, std::int64_t first, std::int64_t count,
                                    Acc* to) {
  const std::int64_t matrix = rows.expert * gemm.expert_stride;
  const auto for_each_row = [&](auto work) {
    Acc* row = to;
    for (std::int64_t n = rows.n; n < rows.end; n += rows.step, row += rows.stride) work(n, row);
  };
  if (std::is_same_v<Acc, Field> || gemm.weight_code == WeightCode::value) {
    with_element<Acc>(gemm.weight_dtype, [&](auto element) {
      const auto* weights = static_cast<const decltype(element)*>(gemm.weights) + matrix + first;
      for_each_row(
          [&](std::int64_t n, Acc* row) { widen_run<Count, 1>(weights + n * gemm.weight_stride, count, row); });
    });
  } else if constexpr (std::is_same_v<Acc, float>) {
    const auto* weights = static_cast<const std::uint8_t*>(gemm.weights) + matrix;
    for_each_row([&](std::int64_t n, Acc* row) {
      unpack_run<Count>(weights + n * gemm.weight_stride, gemm.weight_code, first, count, row);
    });
  }
  if (gemm.scaling != Scaling::weight) return;
  for_each_row([&](std::int64_t n, Acc* row) {
    const std::int64_t scales = rows.expert * gemm.scale_expert_stride + n * gemm.weight_scale_stride;
    scale_run(gemm, scales, first, count < Count ? count : Count, row);
  });
}

}  // namespace moediff::kernels
