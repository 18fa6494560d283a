// Algebra mode: the numbers of a kernel are integers modulo p = 2^61 - 1, so that sums do not depend on their order and
// two kernels agree exactly when they are equal in exact arithmetic (kernels/abi/moediff_abi.h says what replaces what
// is no polynomial). Products are put together from 31-bit halves: no 128-bit integers, which not every device has.
#pragma once

#include <type_traits>

#include "kernels/hip/bf16.h"

namespace moediff::kernels {

inline constexpr std::uint64_t kFieldPrime = (std::uint64_t{1} << 61) - 1;

/// v in [0, p).
struct Field {
  std::uint64_t v;
};

/// x mod p of any 64 bits: 2^61 is 1.
__host__ __device__ inline Field field_of(std::uint64_t x) {
  const std::uint64_t folded = (x >> 61) + (x & kFieldPrime);
  return {folded >= kFieldPrime ? folded - kFieldPrime : folded};
}

__host__ __device__ inline bool operator==(Field a, Field b) { return a.v == b.v; }
__host__ __device__ inline Field operator+(Field a, Field b) { return field_of(a.v + b.v); }
__host__ __device__ inline Field operator-(Field a, Field b) { return field_of(a.v + (kFieldPrime - b.v)); }

/// With a = a1 2^31 + a0 and b likewise, a b = a1 b1 2^62 + (a1 b0 + a0 b1) 2^31 + a0 b0, where 2^62 is 2 and the
/// middle term's part above 2^30 wraps round to 2^0. The four terms are below 2^61, 2^32, 2^61 and 2^62: they fit in 64
/// bits.
__host__ __device__ inline Field operator*(Field a, Field b) {
  constexpr std::uint64_t kLow31 = (std::uint64_t{1} << 31) - 1, kLow30 = (std::uint64_t{1} << 30) - 1;
  const std::uint64_t a1 = a.v >> 31, a0 = a.v & kLow31, b1 = b.v >> 31, b0 = b.v & kLow31;
  const std::uint64_t middle = a1 * b0 + a0 * b1;
  return field_of(2 * a1 * b1 + (middle >> 30) + ((middle & kLow30) << 31) + a0 * b0);
}

/// a * b + c, in the accumulator's arithmetic.
__host__ __device__ inline Field fma_of(Field a, Field b, Field c) { return a * b + c; }
__host__ __device__ inline float fma_of(float a, float b, float c) { return fmaf(a, b, c); }

/// 1 / a as a^(p - 2) (Fermat); of 0: 0. p - 2 in binary is 59 ones, 0, 1.
__host__ __device__ inline Field inverse(Field a) {
  Field power{1}, square = a;
  for (std::uint64_t exponent = kFieldPrime - 2; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = power * square;
    square = square * square;
  }
  return power;
}

/// What an activation of this kind (MD_SILU...) is replaced by: g^3 + (kind + 2) g^2 + (kind + 5) g + 1.
__host__ __device__ inline Field field_activation(int kind, Field g) {
  const std::uint64_t i = static_cast<std::uint64_t>(kind);
  return fma_of(fma_of(g + Field{i + 2}, g, Field{i + 5}), g, Field{1});
}

/// What the scale of a group whose elements sum to `sum` is replaced by.
__host__ __device__ inline Field field_scale(Field sum) { return fma_of(sum + Field{3}, sum, Field{7}); }

/// What a kernel of model dtype T computes in: fp32, or the field itself. Kernels that serve both say Wide<T>, widen
/// and narrow instead of float, to_float and from_float.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, Field>, Field, float>;

template <typename T>
__host__ __device__ inline Wide<T> widen(T x) {
  if constexpr (std::is_same_v<T, Field>) {
    return x;
  } else {
    return to_float(x);
  }
}

/// Rounded to T; the field rounds nothing.
template <typename T>
__host__ __device__ inline T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, Field>) {
    return x;
  } else {
    return from_float<T>(x);
  }
}

}  // namespace moediff::kernels
