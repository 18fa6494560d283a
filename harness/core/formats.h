// Number formats as the *harness* sees them: encoding inputs, decoding outputs, and the set of reals that round to a
// value. Written from the definitions; kernels/ and reference/ have their own (architecture §7: they share no numeric
// code).
#pragma once

#include <cstdint>

#include "harness/core/dtype.h"

namespace moediff {

/// Is `dtype` a binary floating-point format with a sign: f64, f32, f16, bf16, or one of the 8-bit ones with mantissa?
bool is_float(DType dtype);

/// The value of a code of `dtype` (any of kDTypes of at most 16 bits). e8m0: a power of two, NaN for 255.
double decode(DType dtype, std::uint32_t code);
/// The code nearest to `value`: ties to even; beyond the largest finite value infinity, or NaN where the format has no
/// infinity. Formats of at most 16 bits. NaN becomes a quiet NaN of the format; e8m0 takes powers of two only (CHECK).
std::uint32_t encode(DType dtype, double value);

/// bfloat16: the upper half of an IEEE binary32. Round to nearest, ties to even; NaN stays NaN (quiet).
std::uint16_t bf16_from_double(double value);
double double_from_bf16(std::uint16_t bits);

/// The value of `dtype` nearest to `value` (ties to even, overflow as `encode`); f64 is the identity.
double round_to(DType dtype, double value);
/// Largest finite value.
double largest(DType dtype);
/// Unit roundoff u: 2^-24 for f32, 2^-8 for bf16, 2^-53 for f64. A rounding errs by at most u * |value| for normals.
double unit_roundoff(DType dtype);
/// Half the smallest positive subnormal (f64: the whole, as half is no double): the absolute error of one rounding near
/// zero.
double half_smallest(DType dtype);
/// Neighbours of a representable value in `dtype`; beyond the largest finite value as `encode`.
double next_up(DType dtype, double value);
double next_down(DType dtype, double value);

}  // namespace moediff
