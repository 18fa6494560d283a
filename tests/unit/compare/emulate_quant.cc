#include <algorithm>
#include <cmath>

#include "tests/unit/compare/emulate.h"

namespace moediff::test {
namespace {

float scale_of(const QuantSpec& q, float amax) {
  const float most = std::max(amax, static_cast<float>(q.amax_floor)), fmax = static_cast<float>(q.fmax);
  const float scale = q.scale_from == ScaleFrom::division ? most / fmax : most * (1.0f / fmax);
  if (q.scales == ScaleKind::fp32 || !(scale > 0) || !std::isfinite(scale)) return scale;
  float power = 1;
  while (power < scale) power *= 2;
  while (power / 2 >= scale) power /= 2;
  return power;
}

float code_of(const QuantSpec& q, DType dtype, float x, float scale, float amax) {
  if (scale == 0) return 0;
  const float fmax = static_cast<float>(q.fmax), most = std::max(amax, static_cast<float>(q.amax_floor));
  float quotient = x / scale;
  if (q.scale_by == ScaleBy::reciprocal) quotient = x * (1.0f / scale);
  if (q.scale_by == ScaleBy::ratio) quotient = x * (fmax / most);
  quotient = std::clamp(quotient, -fmax, fmax);
  if (dtype != DType::i8) return quotient;
  return q.half_to == HalfTo::even ? std::nearbyint(quotient) : std::round(quotient);
}

float silu(float g) { return g / (1.0f + std::exp(-g)); }

float activated(const ExpertPolicy& policy, float g) {
  const auto limit = static_cast<float>(policy.limit);
  switch (policy.activation) {
    case ActivationKind::silu:
      return silu(g);
    case ActivationKind::gelu:
      return g * 0.5f * (1.0f + std::erf(g * 0.70710678f));
    case ActivationKind::gelu_tanh:
      return 0.5f * g * (1.0f + std::tanh(0.79788456f * (g + 0.044715f * g * g * g)));
    case ActivationKind::swiglu_clamped:
      return silu(std::min(g, limit));
    case ActivationKind::swigluoai:
      break;
  }
  const float c = std::min(g, limit);
  return c / (1.0f + std::exp(-1.702f * c));
}

}  // namespace

float gated_in_fp32(const ExpertPolicy& policy, bool twice, DType dtype, float gate, float up) {
  const bool clamps =
      policy.activation == ActivationKind::swiglu_clamped || policy.activation == ActivationKind::swigluoai;
  const auto limit = static_cast<float>(policy.limit);
  float factor = clamps ? std::clamp(up, -limit, limit) : up;
  if (policy.activation == ActivationKind::swigluoai) factor += 1;
  const float act = activated(policy, gate);
  return (twice ? stored_as(dtype, act) : act) * factor;
}

void emulate_quantisation(const Step& step, const Views& v) {
  const QuantSpec& q = step.params.quant;
  const View &in = v[0], &codes = v[1], &scales = v[2];
  const std::int64_t rows = codes.extent(0), columns = codes.extent(1);
  const bool fused = in.extent(1) != columns;
  std::vector<float> x, amax(static_cast<std::size_t>(scales.extent(0) * scales.extent(1)));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t r = i / columns, c = i % columns;
    x.push_back(fused ? gated_in_fp32(step.params.expert, false, DType::f32, in.get(r * 2 * columns + c),
                                      in.get(r * 2 * columns + columns + c))
                      : in.get(i));
    float& most = amax[static_cast<std::size_t>(activation_scale(q, columns, r, c))];
    most = std::max(most, std::fabs(x.back()));
  }
  for (std::size_t g = 0; g < amax.size(); ++g) scales.set(static_cast<std::int64_t>(g), scale_of(q, amax[g]));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t g = activation_scale(q, columns, i / columns, i % columns);
    codes.set(
        i, code_of(q, codes.dtype(), x[static_cast<std::size_t>(i)], scales.get(g), amax[static_cast<std::size_t>(g)]));
  }
}

}  // namespace moediff::test
