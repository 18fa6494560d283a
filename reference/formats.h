// Number formats by their published definitions, the reference's own (kernels/ and harness/ have theirs): IEEE 754-2019
// binary16 and binary32, bfloat16, OCP 8-bit floating point (OFP8) v1.0 e4m3 and e5m2, the fnuz variants of
// Graphcore/AMD/Qualcomm (arXiv:2206.02915) and E8M0 of OCP Microscaling v1.0. Nothing here uses the bits of a host
// type: narrow formats are tables of all values, and encoding is a search in them.
#pragma once

#include <cstdint>

#include "harness/core/dtype.h"

namespace moediff::reference {

/// What becomes of values beyond the largest finite one. special: infinity, or NaN where the format has none.
/// saturate_finite: finite values become the largest, infinities as `special` (ml_dtypes). saturate: infinities too
/// (ONNX; CUDA satfinite).
enum class Overflow : std::uint8_t { special, saturate_finite, saturate };

/// The value of a code of an 8-bit float format (e8m0 too), f16 or bf16.
double decode(DType format, std::uint32_t code);
/// The code nearest to `value`, ties to the even code (not of e8m0); -0 has a code where the format has one. NaN gives
/// any NaN code.
std::uint32_t encode(DType format, double value, Overflow overflow = Overflow::special);
/// The nearest value of f32, f16, bf16 or an 8-bit format (f64: the value itself).
double round_to(DType format, double value, Overflow overflow = Overflow::special);

}  // namespace moediff::reference
