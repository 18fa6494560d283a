// The gated activation of an expert MLP.
#pragma once

#include "kernels/activation/gated.h"
#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// in [rows, 2*inter]: gate columns, then up columns; out [rows, inter] = round([round] f(gate) * h(up)), in fp32
/// between the roundings to T (vLLM csrc/activation_kernels.cu). Instantiated for float, Bf16, F16 and Field.
template <typename T>
hipError_t launch_activation(Matrix<const T> in, const Gating& gating, Matrix<T> out, hipStream_t stream);

}  // namespace moediff::kernels
