// The weighted sum of a token's slots: elementwise over [T, H], a run of columns a thread, which keeps its sums in
// registers while it goes through the slots.
#pragma once

#include "kernels/combine/combine.h"
#include "kernels/hip/elementwise.h"

namespace moediff::kernels {

/// In the arithmetic of the accumulator, rounded once.
template <typename T>
struct SumOnce {
  using Sum = Wide<T>;
  static __device__ Sum add(Sum sum, Wide<T> weight, T x) { return fma_of(weight, widen(x), sum); }
  static __device__ T finish(Sum sum) { return narrow<T>(sum); }
};

/// Every product and every sum rounded to T.
template <typename T>
struct SumRounded {
  using Sum = Wide<T>;
  static __device__ Sum add(Sum sum, Wide<T> weight, T x) {
    return widen(narrow<T>(sum + widen(narrow<T>(weight * widen(x)))));
  }
  static __device__ T finish(Sum sum) { return narrow<T>(sum); }
};

/// vLLM has kernels of its own, with the accumulator in T, for these numbers of slots.
constexpr bool sums_in_model_dtype(bool moe_sum, std::int64_t width) { return moe_sum && width >= 2 && width <= 4; }

/// One run of a token's output. The order of the slots is part of the contract: fp32 addition is not associative.
template <typename T, typename Rule>
__device__ inline void combine_run(Matrix<const T> in, const Slots<T>& slots, std::int64_t token, std::int64_t begin,
                                   int count, T* out) {
  Wide<T> sum[kRun] = {};
  for (std::int64_t j = 0; j < slots.width; ++j) {
    const std::int64_t r = slots.rows[token * slots.width + j];
    if (r < 0 || r >= in.rows) continue;
    const Wide<T> weight = slots.weights.data == nullptr ? Wide<T>{1} : slots.weights.row(token)[j];
    const T* row = in.row(r) + begin;
    for (int i = 0; i < count; ++i) sum[i] = Rule::add(sum[i], weight, row[i]);
  }
  for (int i = 0; i < count; ++i) out[begin + i] = Rule::finish(sum[i]);
}

}  // namespace moediff::kernels
