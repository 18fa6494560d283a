// Conversion between number formats: what a device's own conversions are checked by.
#pragma once

#include "kernels/hip/platform.h"

namespace moediff::kernels {

/// to[i] = from[i] for i < count: exact out of a format into fp32, rounded once into one out of fp32, to nearest, ties
/// to even. One of the types (md_dtype) is f32, the other f64, f32, bf16, f16, e8m0 or an 8-bit float. saturate: finite
/// numbers beyond the largest become the largest; otherwise, and infinity always, infinity or NaN.
hipError_t launch_convert(const void* from, int from_dtype, void* to, int to_dtype, std::int64_t count, bool saturate,
                          hipStream_t stream);

}  // namespace moediff::kernels
