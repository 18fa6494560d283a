// Quantisation with one scale for the whole tensor.
#pragma once

#include "kernels/quant/quantize.h"

namespace moediff::kernels {

/// Instantiated for float and Field.
template <typename Acc>
hipError_t launch_quantize_tensor(const Quantize& job, hipStream_t stream);

}  // namespace moediff::kernels
