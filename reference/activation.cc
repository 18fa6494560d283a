// Gated activations. silu(x) = x sigmoid(x) (deepseek-ai/DeepSeek-V3, inference/model.py, class MLP); gelu of Hendrycks
// and Gimpel, arXiv:1606.08415, by erf and by its tanh approximation; gpt-oss's with clamps (vLLM
// csrc/activation_kernels.cu, swigluoai_and_mul).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "reference/api.h"
#include "reference/parallel.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

struct Curve {
  double value, derivative;
};

/// sigmoid and its derivative s (1 - s). With e = exp(-|x|), both s and 1 - s are quotients without cancellation or
/// overflow.
Curve sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  const double major = 1.0 / (1.0 + e), minor = e / (1.0 + e);  // sigmoid(|x|), sigmoid(-|x|)
  return {x >= 0 ? major : minor, major * minor};
}

/// x s(a x) and its derivative s + a x s'. At -inf and +inf the limits, where the formulae would give NaN.
Curve swish(double x, double slope) {
  if (std::isinf(x)) return x > 0 ? Curve{x, 1.0} : Curve{0.0, 0.0};
  const Curve s = sigmoid(slope * x);
  return {x * s.value, s.value + slope * (x * s.derivative)};
}

/// x Phi(x), Phi the normal distribution function, by erfc so that the left tail keeps its accuracy.
Curve gelu(double x) {
  if (std::isinf(x)) return x > 0 ? Curve{x, 1.0} : Curve{0.0, 0.0};
  const double phi = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const double distribution = 0.5 * std::erfc(-x / std::numbers::sqrt2);
  return {x * distribution, distribution + x * phi};
}

/// x (1 + tanh(u)) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3); (1 + tanh(u)) / 2 = sigmoid(2 u).
Curve gelu_tanh(double x) {
  constexpr double kCubic = 0.044715, kTwoRoots = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  constexpr double kFlat = 100;  // beyond it sigmoid is 0 or 1 in double, and x^3 may overflow
  if (std::fabs(x) > kFlat) return x > 0 ? Curve{x, 1.0} : Curve{0.0, 0.0};
  const Curve s = sigmoid(kTwoRoots * (x + kCubic * x * x * x));
  return {x * s.value, s.value + x * s.derivative * kTwoRoots * (1 + 3 * kCubic * x * x)};
}

constexpr double kOaiSlope = 1.702;

Curve activate(ActivationKind kind, double limit, double gate) {
  const auto clamped = [&](double slope) {
    return gate > limit ? Curve{swish(limit, slope).value, 0.0} : swish(gate, slope);
  };
  switch (kind) {
    case ActivationKind::silu:
      return swish(gate, 1.0);
    case ActivationKind::gelu:
      return gelu(gate);
    case ActivationKind::gelu_tanh:
      return gelu_tanh(gate);
    case ActivationKind::swiglu_clamped:
      return clamped(1.0);
    case ActivationKind::swigluoai:
      break;
  }
  return clamped(kOaiSlope);
}

Curve factor_of(ActivationKind kind, double limit, double up) {
  const bool clamps = kind == ActivationKind::swiglu_clamped || kind == ActivationKind::swigluoai;
  Curve factor{up, 1.0};
  if (clamps && std::fabs(up) > limit) factor = {std::copysign(limit, up), 0.0};
  if (kind == ActivationKind::swigluoai) factor.value += 1;
  return factor;
}

}  // namespace

Activation gated_activation(ActivationKind kind, double limit, std::span<const double> gate_up, std::int64_t rows,
                            std::int64_t inter) {
  require(rows >= 0 && inter >= 0 && static_cast<std::int64_t>(gate_up.size()) == rows * 2 * inter,
          "gate_up must be [rows, 2 * inter]");
  Activation out;
  for (std::vector<double>* array : {&out.act, &out.dact, &out.factor, &out.dfactor, &out.value})
    array->resize(static_cast<std::size_t>(rows * inter));
#pragma omp parallel for schedule(static) if (worth_threads(rows * inter * 32))
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* const gate = gate_up.data() + r * 2 * inter;
    for (std::int64_t i = 0; i < inter; ++i) {
      const auto to = static_cast<std::size_t>(r * inter + i);
      const Curve act = activate(kind, limit, gate[i]), factor = factor_of(kind, limit, gate[inter + i]);
      out.act[to] = act.value;
      out.dact[to] = act.derivative;
      out.factor[to] = factor.value;
      out.dfactor[to] = factor.derivative;
      out.value[to] = act.value * factor.value;
    }
  }
  return out;
}

}  // namespace moediff::reference
