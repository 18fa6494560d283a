// bfloat16 as the kernels see it: the upper half of an fp32. Written for the kernels alone: the harness and the
// reference have conversions of their own, so that an error in one is seen by the others.
#pragma once

#include <bit>

#include "kernels/hip/platform.h"

namespace moediff::kernels {

struct Bf16 {
  std::uint16_t bits;
};

__host__ __device__ inline float to_float(float x) { return x; }

/// Exact.
__host__ __device__ inline float to_float(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

/// What becomes of finite values beyond the largest one: infinity, or NaN where the format has none; or the largest.
/// Infinities become the former in any case.
enum class Overflow { special, saturate };

/// The value of T nearest to x, ties to even.
template <typename T>
__host__ __device__ T from_float(float x, Overflow overflow);
template <typename T>
__host__ __device__ T from_float(float x) {
  return from_float<T>(x, Overflow::special);
}

template <>
__host__ __device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__host__ __device__ inline float from_float<float>(float x, Overflow) {
  return x;
}

/// Round to nearest, ties to even: adding just below half a unit of the last place, plus that place's parity, carries
/// exactly when the tail is above half, or is half and the place is odd. A NaN stays one: its payload may be all in the
/// lower half, so the quiet bit is set instead of rounding.
template <>
__host__ __device__ inline Bf16 from_float<Bf16>(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return {static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded)};
}

template <>
__host__ __device__ inline Bf16 from_float<Bf16>(float x, Overflow overflow) {
  const Bf16 rounded = from_float<Bf16>(x);
  const bool infinite = (rounded.bits & 0x7fffu) == 0x7f80u;
  const bool was_finite = (std::bit_cast<std::uint32_t>(x) & 0x7fffffffu) < 0x7f800000u;
  const bool saturates = infinite && was_finite && overflow == Overflow::saturate;
  return {static_cast<std::uint16_t>(saturates ? rounded.bits - 1 : rounded.bits)};
}

/// The nearest value of T, as a float.
template <typename T>
__device__ inline float rounded_to(float x) {
  return to_float(from_float<T>(x));
}

}  // namespace moediff::kernels
