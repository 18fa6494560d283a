// What follows the experts: the weighted sum of a token's slots, the sum of routed and shared, the residual.
#pragma once

#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// out[t] = round(sum over j of weights[t, j] * in[slot_rows[t * W + j]]), W = weights.columns: fp32, fmaf from 0 in
/// ascending j. A slot whose row is not in [0, in.rows) adds nothing (its expert is computed elsewhere).
/// Instantiated for float and Bf16.
template <typename T>
hipError_t launch_combine(Matrix<const T> in, const std::int32_t* slot_rows, Matrix<const float> weights, Matrix<T> out,
                          hipStream_t stream);

/// out = round(round(factor * routed) + shared); shared.data null: round(factor * routed). May run in place on either.
template <typename T>
hipError_t launch_scale_add(Matrix<const T> routed, Matrix<const T> shared, float factor, Matrix<T> out,
                            hipStream_t stream);

/// out = round(moe + hidden). May run in place on either.
template <typename T>
hipError_t launch_residual_add(Matrix<const T> moe, Matrix<const T> hidden, Matrix<T> out, hipStream_t stream);

}  // namespace moediff::kernels
