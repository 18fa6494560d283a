// Floating-point formats narrower than fp32, from their definitions and by bit arithmetic: IEEE 754 binary16, the 8-bit
// formats of OCP OFP8 v1.0 (e4m3fn, e5m2), their fnuz variants (arXiv:2206.02915), and E8M0 and e2m1 of OCP
// Microscaling v1.0. Written for the kernels alone; no vendor's header.
//
// Reading is exact. Writing rounds fp32 to nearest, ties to even, once: the significand is cut where the format ends,
// so that normal and subnormal results are rounded in one step. Without branches, so that the host's vectors serve.
#pragma once

#include "kernels/hip/bf16.h"

namespace moediff::kernels {

struct F16 {
  std::uint16_t bits;
};
struct E4M3Fn {
  std::uint8_t bits;
};
struct E4M3Fnuz {
  std::uint8_t bits;
};
struct E5M2 {
  std::uint8_t bits;
};
struct E5M2Fnuz {
  std::uint8_t bits;
};
/// A power of two without sign.
struct E8M0 {
  std::uint8_t bits;
};
/// Four bits in the low half. Only read: weights come quantised.
struct E2M1 {
  std::uint8_t bits;
};

/// What a format keeps for infinity and NaN. ieee: all-ones exponents; all_ones: one NaN a sign, no infinity;
/// negative_zero: one NaN, no infinity and no -0; none: neither.
enum class Special { ieee, all_ones, negative_zero, none };

template <typename T>
struct Layout;
template <>
struct Layout<F16> {
  static constexpr int kExponent = 5, kMantissa = 10, kBias = 15;
  static constexpr Special kSpecial = Special::ieee;
};
template <>
struct Layout<E4M3Fn> {
  static constexpr int kExponent = 4, kMantissa = 3, kBias = 7;
  static constexpr Special kSpecial = Special::all_ones;
};
template <>
struct Layout<E4M3Fnuz> {
  static constexpr int kExponent = 4, kMantissa = 3, kBias = 8;
  static constexpr Special kSpecial = Special::negative_zero;
};
template <>
struct Layout<E5M2> {
  static constexpr int kExponent = 5, kMantissa = 2, kBias = 15;
  static constexpr Special kSpecial = Special::ieee;
};
template <>
struct Layout<E5M2Fnuz> {
  static constexpr int kExponent = 5, kMantissa = 2, kBias = 16;
  static constexpr Special kSpecial = Special::negative_zero;
};
template <>
struct Layout<E2M1> {
  static constexpr int kExponent = 2, kMantissa = 1, kBias = 1;
  static constexpr Special kSpecial = Special::none;
};

/// Codes of a format as numbers: magnitude below the sign bit.
template <typename T>
struct Codes {
  using L = Layout<T>;
  static constexpr std::uint32_t kMagnitude = (1u << (L::kExponent + L::kMantissa)) - 1;
  static constexpr std::uint32_t kSign = kMagnitude + 1;
  static constexpr std::uint32_t kInfinity = kMagnitude >> L::kMantissa << L::kMantissa;  ///< ieee
  static constexpr std::uint32_t kLargest = L::kSpecial == Special::ieee       ? kInfinity - 1
                                            : L::kSpecial == Special::all_ones ? kMagnitude - 1
                                                                               : kMagnitude;
};

/// The value of a code; e2m1 has no NaN, so each is a number.
template <typename T>
__host__ __device__ inline float expand(std::uint32_t code) {
  using L = Layout<T>;
  using C = Codes<T>;
  constexpr std::uint32_t kUnit = static_cast<std::uint32_t>(127 + 1 - L::kBias - L::kMantissa) << 23;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - L::kBias) << 23;
  const std::uint32_t magnitude = code & C::kMagnitude;
  const std::uint32_t shifted = magnitude << (23 - L::kMantissa);
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * std::bit_cast<float>(kUnit);
  std::uint32_t bits = magnitude < (1u << L::kMantissa) ? std::bit_cast<std::uint32_t>(subnormal) : shifted + kRebias;
  if constexpr (L::kSpecial == Special::ieee) bits = magnitude >= C::kInfinity ? shifted | 0x7f800000u : bits;
  if constexpr (L::kSpecial == Special::all_ones) bits = magnitude == C::kMagnitude ? 0x7fc00000u : bits;
  if constexpr (L::kSpecial == Special::negative_zero) bits = code == C::kSign ? 0x7fc00000u : bits;
  return std::bit_cast<float>(bits | (code & C::kSign) << (31 - L::kExponent - L::kMantissa));
}

/// The code nearest to x, of a format that has a NaN.
template <typename T>
__host__ __device__ inline std::uint32_t compress(float x, Overflow overflow) {
  using L = Layout<T>;
  using C = Codes<T>;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = bits >> 31 << (L::kExponent + L::kMantissa);
  // How many low bits of the 24-bit significand go: as many as the format's mantissa is shorter, and one more for each
  // power of two below its smallest normal. Beyond 25 nothing is left to round up. fp32's own subnormals are that far
  // below every format here.
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int below = 1 - L::kBias - exponent;
  const int wanted = 23 - L::kMantissa + (below > 0 ? below : 0);
  const int cut = wanted < 25 ? wanted : 25;
  const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t rounded = (significand + (1u << (cut - 1)) - 1 + ((significand >> cut) & 1u)) >> cut;
  // The significand's leading bit, or a carry out of it, counts as one of the exponent.
  const int field = below > 0 ? 0 : exponent + L::kBias - 1;
  const std::uint32_t code = (static_cast<std::uint32_t>(field) << L::kMantissa) + rounded;

  const bool infinite = magnitude == 0x7f800000u, nan = magnitude > 0x7f800000u;
  const bool saturates = overflow == Overflow::saturate && !infinite;
  constexpr std::uint32_t kBeyond = L::kSpecial == Special::ieee ? C::kInfinity : C::kMagnitude;
  const std::uint32_t largest = saturates ? C::kLargest : kBeyond;
  if constexpr (L::kSpecial == Special::negative_zero) {
    const bool special = nan || (!saturates && code > C::kLargest);
    const std::uint32_t finite = code > C::kLargest ? C::kLargest : code;
    return special ? C::kSign : finite == 0 ? 0 : finite | sign;
  } else {
    return (nan ? C::kMagnitude : code > C::kLargest ? largest : code) | sign;
  }
}

__host__ __device__ inline float to_float(F16 x) { return expand<F16>(x.bits); }
__host__ __device__ inline float to_float(E4M3Fn x) { return expand<E4M3Fn>(x.bits); }
__host__ __device__ inline float to_float(E4M3Fnuz x) { return expand<E4M3Fnuz>(x.bits); }
__host__ __device__ inline float to_float(E5M2 x) { return expand<E5M2>(x.bits); }
__host__ __device__ inline float to_float(E5M2Fnuz x) { return expand<E5M2Fnuz>(x.bits); }
__host__ __device__ inline float to_float(E2M1 x) { return expand<E2M1>(x.bits); }
/// 2^(bits - 127), which is subnormal for 0; 255 is NaN.
__host__ __device__ inline float to_float(E8M0 x) {
  const std::uint32_t bits = x.bits == 0 ? 0x400000u : static_cast<std::uint32_t>(x.bits) << 23;
  return std::bit_cast<float>(x.bits == 255 ? 0x7fc00000u : bits);
}
__host__ __device__ inline float to_float(std::int8_t x) { return static_cast<float>(x); }
/// A nibble of int4 codes.
__host__ __device__ inline float int4_to_float(std::uint32_t nibble) {
  return static_cast<float>(static_cast<std::int32_t>(nibble) - 8);
}

template <>
__host__ __device__ inline F16 from_float<F16>(float x, Overflow overflow) {
  return {static_cast<std::uint16_t>(compress<F16>(x, overflow))};
}
template <>
__host__ __device__ inline E4M3Fn from_float<E4M3Fn>(float x, Overflow overflow) {
  return {static_cast<std::uint8_t>(compress<E4M3Fn>(x, overflow))};
}
template <>
__host__ __device__ inline E4M3Fnuz from_float<E4M3Fnuz>(float x, Overflow overflow) {
  return {static_cast<std::uint8_t>(compress<E4M3Fnuz>(x, overflow))};
}
template <>
__host__ __device__ inline E5M2 from_float<E5M2>(float x, Overflow overflow) {
  return {static_cast<std::uint8_t>(compress<E5M2>(x, overflow))};
}
template <>
__host__ __device__ inline E5M2Fnuz from_float<E5M2Fnuz>(float x, Overflow overflow) {
  return {static_cast<std::uint8_t>(compress<E5M2Fnuz>(x, overflow))};
}
/// The nearest power of two, halfway to the even code. What has none is NaN: zero, negative numbers and, unless they
/// saturate to 2^127, numbers beyond the largest.
template <>
__host__ __device__ inline E8M0 from_float<E8M0>(float x, Overflow overflow) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (bits == 0 || bits > 0x7f800000u) return {255};
  // Below 2^-126 the powers are 2^-127 alone, and 2^-126; what is nearer to zero than to 2^-127 still takes it.
  if (bits < 0x800000u) return {static_cast<std::uint8_t>(bits > 0x600000u ? 1 : 0)};
  const std::uint32_t code = bits >> 23, mantissa = bits & 0x7fffffu;
  const std::uint32_t up = mantissa > 0x400000u || (mantissa == 0x400000u && (code & 1u) != 0) ? 1 : 0;
  const std::uint32_t rounded = code + up;
  const bool saturates = overflow == Overflow::saturate && code < 255;
  return {static_cast<std::uint8_t>(rounded < 255 ? rounded : saturates ? 254 : 255)};
}

}  // namespace moediff::kernels
