// The gated activations, one element: f(gate) * h(up). Used by the activation kernel and by its fusion with the
// quantisation.
//
// Errors of f in fp32 (h and the products add one rounding each), u = 2^-24, with libm's functions within 1 ulp:
//   silu, swiglu_clamped, swigluoai  8 u |f|, plus 2^-147 where the result is subnormal
//   gelu, gelu_tanh                  4 u |gate|: absolute in Phi, as 1 + erf and 1 + tanh cancel for negative gates
// Clamps leave a NaN as it is.
#pragma once

#include "kernels/abi/moediff_abi.h"
#include "kernels/hip/field.h"
#include "kernels/hip/sigmoid.h"

namespace moediff::kernels {

/// What the activation of a call is.
struct Gating {
  int kind;    ///< MD_SILU...
  bool twice;  ///< f(gate) is rounded before the product
  float limit;
};

inline Gating gating_of(const md_params& params) {
  const bool twice = params.activation_rounding == MD_ROUND_TWICE && params.activation != MD_SWIGLUOAI;
  return {params.activation, twice, params.limit};
}

/// g * sigmoid(x + low), where g and x have one sign and low is a small part of an ulp of x. Far out sigmoid(x) is e^x,
/// and may be too small for a float although the product is not: so half of the exponent goes into each factor.
__device__ inline float times_sigmoid(float g, float x, float low) {
  constexpr float kFlat = 300.0f;  // beyond it the result is g or 0, and `low` may have overflowed
  if (fabsf(x) > kFlat) return x > 0.0f ? g : -0.0f;
  if (x < -40.0f) {
    const float root = expf(0.5f * x);
    return g * root * root * (1.0f + low);
  }
  const float s = sigmoid(x);
  return g * fmaf(s * (1.0f - s), low, s);
}

/// g * sigmoid(1.702 g). The rounding of 1.702 g alone would cost |g| ulps of the result, so the product keeps its
/// tail.
__device__ inline float oai_swish(float g) {
  constexpr double kSlope = 1.702;
  constexpr float kHigh = static_cast<float>(kSlope), kLow = static_cast<float>(kSlope - static_cast<double>(kHigh));
  const float x = kHigh * g;
  return times_sigmoid(g, x, fmaf(kLow, g, fmaf(kHigh, g, -x)));
}

__device__ inline float gelu(float g) {
  constexpr float kRootHalf = 0.70710678118654752f;
  return 0.5f * g * (1.0f + erff(g * kRootHalf));
}

__device__ inline float gelu_tanh(float g) {
  constexpr float kRootTwoOverPi = 0.79788456080286536f, kCubic = 0.044715f;
  return 0.5f * g * (1.0f + tanhf(kRootTwoOverPi * fmaf(kCubic * g * g, g, g)));
}

__device__ inline float at_most(float x, float limit) { return x > limit ? limit : x; }

__device__ inline float activated(const Gating& gating, float gate) {
  switch (gating.kind) {
    case MD_GELU:
      return gelu(gate);
    case MD_GELU_TANH:
      return gelu_tanh(gate);
    case MD_SWIGLU_CLAMPED:
      gate = at_most(gate, gating.limit);
      return times_sigmoid(gate, gate, 0.0f);
    case MD_SWIGLUOAI:
      return oai_swish(at_most(gate, gating.limit));
    default:
      return times_sigmoid(gate, gate, 0.0f);
  }
}

__device__ inline float factor_of_up(const Gating& gating, float up) {
  if (gating.kind != MD_SWIGLU_CLAMPED && gating.kind != MD_SWIGLUOAI) return up;
  const float clamped = at_most(up < -gating.limit ? -gating.limit : up, gating.limit);
  return gating.kind == MD_SWIGLUOAI ? clamped + 1.0f : clamped;
}

/// f(gate) * h(up) in fp32, nothing rounded to a narrower format.
__device__ inline float gated(const Gating& gating, float gate, float up) {
  return activated(gating, gate) * factor_of_up(gating, up);
}

__device__ inline Field gated(const Gating& gating, Field gate, Field up) {
  return field_activation(gating.kind, gate) * up;
}

/// The element as it is stored in T.
template <typename T>
__device__ T gated_element(const Gating& gating, T gate, T up) {
  if constexpr (std::is_same_v<T, Field>) {
    return gated(gating, gate, up);
  } else {
    const float act = activated(gating, to_float(gate));
    return from_float<T>((gating.twice ? rounded_to<T>(act) : act) * factor_of_up(gating, to_float(up)));
  }
}

}  // namespace moediff::kernels
