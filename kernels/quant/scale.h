// From the elements of a group to its scale, and from an element to its code: in fp32, and in algebra mode.
#pragma once

#include "kernels/hip/formats_any.h"
#include "kernels/quant/quantize.h"

namespace moediff::kernels {

/// What a scale is made from, as an integer that does not depend on the order of its elements: the bits of the largest
/// magnitude (a NaN's are above all others, so it is kept), or the sum modulo p.
template <typename Acc>
using Measure = std::conditional_t<std::is_same_v<Acc, Field>, unsigned long long, unsigned>;

__device__ inline unsigned measure_of(float x) { return std::bit_cast<unsigned>(x) & 0x7fffffffu; }
__device__ inline unsigned long long measure_of(Field x) { return x.v; }
__device__ inline unsigned joined(unsigned a, unsigned b) { return a > b ? a : b; }
__device__ inline unsigned long long joined(unsigned long long a, unsigned long long b) {
  return (Field{a} + Field{b}).v;
}

/// The least power of two that is not below s. Only the exponent of a normal number has to move: adding just below one
/// carries into it exactly when the mantissa is not 0. A subnormal number is an integer of units.
__device__ inline float power_of_two_above(float s) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(s);
  if (bits >= 0x7f800000u || bits == 0) return s;
  if (bits >= 0x800000u) return std::bit_cast<float>((bits + 0x7fffffu) & 0x7f800000u);
  std::uint32_t power = 1;
  while (power < bits) power *= 2;
  return std::bit_cast<float>(power);
}

/// The scale of a group, and what turns its elements into codes.
template <typename Acc>
class Coder;

template <>
class Coder<float> {
 public:
  __device__ Coder(const QuantizePolicy& policy, unsigned measure) : policy_(policy) {
    const float largest = std::bit_cast<float>(measure);
    const float amax = largest < policy.amax_floor ? policy.amax_floor : largest;
    scale_ = policy.scale_from == MD_SCALE_FROM_DIVISION ? amax / policy.fmax : amax * (1.0f / policy.fmax);
    if (policy.scale_kind == MD_SCALES_UE8M0) scale_ = power_of_two_above(scale_);
    factor_ = policy.scale_by == MD_SCALE_BY_RATIO ? policy.fmax / amax : 1.0f / scale_;
  }

  __device__ float scale() const { return scale_; }

  /// The code's value before it is rounded. A NaN passes every clamp.
  __device__ float clamped(float x) const {
    if (scale_ == 0.0f) return 0.0f;
    const float quotient = policy_.scale_by == MD_SCALE_BY_DIVISION ? x / scale_ : x * factor_;
    return quotient > policy_.fmax ? policy_.fmax : quotient < -policy_.fmax ? -policy_.fmax : quotient;
  }

  /// The nearest code of T. int8 has none for NaN; it becomes 0.
  template <typename T>
  __device__ T code(float x) const {
    const float value = clamped(x);
    if constexpr (std::is_same_v<T, std::int8_t>) {
      const float integer = policy_.half_to == MD_HALF_AWAY ? roundf(value) : rintf(value);
      return integer == integer ? static_cast<std::int8_t>(integer) : std::int8_t{0};
    } else {
      return from_float<T>(value);
    }
  }

 private:
  QuantizePolicy policy_;
  float scale_, factor_;
};

template <>
class Coder<Field> {
 public:
  __device__ Coder(const QuantizePolicy&, unsigned long long measure)
      : scale_(field_scale(Field{measure})), factor_(inverse(scale_)) {}

  __device__ Field scale() const { return scale_; }
  template <typename T>
  __device__ Field code(Field x) const {
    return x * factor_;
  }

 private:
  Field scale_, factor_;
};

}  // namespace moediff::kernels
