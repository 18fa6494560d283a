// Quantisation of activations, in the order of vLLM's per_token_group_quant_fp8 and DeepSeek's act_quant_kernel:
// largest magnitude, scale, division, clamp, rounding to the code.
#include <algorithm>
#include <cmath>

#include "reference/api.h"
#include "reference/formats.h"
#include "reference/fp32_steps.h"
#include "reference/require.h"
#include "reference/scales.h"

namespace moediff::reference {
namespace {

float floored(float amax, const QuantSpec& spec) {
  const auto floor = static_cast<float>(spec.amax_floor);
  return amax < floor ? floor : amax;  // NaN stays
}

/// The least power of two that is not below `scale`.
float round_up_to_power(float scale) {
  if (!std::isfinite(scale) || scale <= 0) return scale;
  int exponent = 0;
  const float fraction = std::frexp(scale, &exponent);  // in [1/2, 1)
  return std::ldexp(1.0f, fraction == 0.5f ? exponent - 1 : exponent);
}

}  // namespace

float scale_step(float amax, float fmax, const QuantSpec& spec, bool power_of_two) {
  const float largest = floored(amax, spec);
  const float scale = spec.scale_from == ScaleFrom::division ? largest / fmax : largest * (1.0f / fmax);
  return power_of_two ? round_up_to_power(scale) : scale;
}

float divide_step(float x, float scale, float amax, float fmax, const QuantSpec& spec) {
  if (scale == 0) return 0;
  float quotient = 0;
  switch (spec.scale_by) {
    case ScaleBy::division:
      quotient = x / scale;
      break;
    case ScaleBy::reciprocal:
      quotient = x * (1.0f / scale);
      break;
    case ScaleBy::ratio:
      quotient = x * (fmax / floored(amax, spec));
      break;
  }
  return std::clamp(quotient, -fmax, fmax);  // NaN stays
}

float integer_step(float x, HalfTo half_to) { return half_to == HalfTo::even ? std::nearbyint(x) : std::round(x); }

Quantised quantise(std::span<const double> x, std::int64_t rows, std::int64_t columns, const QuantSpec& spec) {
  require(spec.fmax > 0, "fmax must be resolved");
  const ScaleGroups groups = scale_groups(spec);
  const std::vector<double> amax = largest_magnitudes(x, rows, columns, groups);
  const ActivationScaleMap map(groups, rows, columns);
  const auto fmax = static_cast<float>(spec.fmax);
  const bool fp8 = row(spec.scheme).weight == CodeFormat::fp8;
  Quantised out;
  for (const double a : amax) {
    out.scale.push_back(scale_step(static_cast<float>(a), fmax, spec, spec.scales == ScaleKind::ue8m0));
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto element = static_cast<float>(x[static_cast<std::size_t>(r * columns + c)]);
      const auto group = static_cast<std::size_t>(map(r, c));
      const float quotient =
          divide_step(element, static_cast<float>(out.scale[group]), static_cast<float>(amax[group]), fmax, spec);
      out.code.push_back(fp8 ? round_to(spec.fp8_dtype(), quotient) : integer_step(quotient, spec.half_to));
    }
  }
  return out;
}

}  // namespace moediff::reference
