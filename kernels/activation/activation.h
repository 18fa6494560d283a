// The gated activation of an expert MLP.
#pragma once

#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// in [rows, 2*inter]: gate columns, then up columns; out [rows, inter] = round(round(silu(gate)) * up), in fp32
/// between the roundings to T (as vLLM's silu_and_mul, csrc/activation_kernels.cu). Instantiated for float and Bf16.
template <typename T>
hipError_t launch_silu_and_mul(Matrix<const T> in, Matrix<T> out, hipStream_t stream);

}  // namespace moediff::kernels
