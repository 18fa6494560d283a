// What follows the experts: the weighted sum of a token's slots, the sum of routed and shared, the residual; and the
// routing weight on the input. All are instantiated for float, Bf16, F16 and Field; weights and factors of a T are
// Wide<T>.
#pragma once

#include "kernels/hip/field.h"
#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// The slots of each token: row of the experts' output by t * width + j, and their weights [T, width] (data null: 1).
template <typename T>
struct Slots {
  const std::int32_t* rows = nullptr;
  std::int64_t width = 0;
  Matrix<const Wide<T>> weights;
};

/// out[t] = round(sum over j of weight[t, j] * in[row of slot t, j]), fma from 0 in ascending j. With `moe_sum` and 2
/// to 4 slots every product and every sum is rounded to T (vLLM csrc/moe/moe_align_sum_kernels.cu). A slot whose row is
/// not in [0, in.rows) adds nothing (its expert is computed elsewhere).
template <typename T>
hipError_t launch_combine(Matrix<const T> in, const Slots<T>& slots, bool moe_sum, Matrix<T> out, hipStream_t stream);

/// out = round(round(factor * routed) + shared); shared.data null: round(factor * routed). May run in place on either.
template <typename T>
hipError_t launch_scale_add(Matrix<const T> routed, Matrix<const T> shared, Wide<T> factor, Matrix<T> out,
                            hipStream_t stream);

/// out = round(moe + hidden). May run in place on either.
template <typename T>
hipError_t launch_residual_add(Matrix<const T> moe, Matrix<const T> hidden, Matrix<T> out, hipStream_t stream);

/// out[t] = round(round(weights[t, 0]) * x[t]).
template <typename T>
hipError_t launch_weigh_input(Matrix<const T> x, Matrix<const Wide<T>> weights, Matrix<T> out, hipStream_t stream);

}  // namespace moediff::kernels
