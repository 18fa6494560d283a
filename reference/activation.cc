// SwiGLU: silu(gate) * up, silu(x) = x sigmoid(x) (deepseek-ai/DeepSeek-V3, inference/model.py, class MLP).
#include <cmath>

#include "reference/api.h"
#include "reference/parallel.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

struct Silu {
  double value, derivative;
};

/// silu(x) and silu'(x) = s + x s (1 - s) with s = sigmoid(x). With e = exp(-|x|), both s and 1 - s are quotients
/// without cancellation or overflow. At -inf and +inf the limits, where the formulae would give NaN.
Silu silu(double x) {
  if (std::isinf(x)) return x > 0 ? Silu{x, 1.0} : Silu{0.0, 0.0};
  const double e = std::exp(-std::fabs(x));
  const double major = 1.0 / (1.0 + e), minor = e / (1.0 + e);  // sigmoid(|x|), sigmoid(-|x|)
  const double s = x >= 0 ? major : minor;
  return {x * s, s + x * major * minor};
}

}  // namespace

Activation silu_and_mul(std::span<const double> gate_up, std::int64_t rows, std::int64_t inter) {
  require(rows >= 0 && inter >= 0 && static_cast<std::int64_t>(gate_up.size()) == rows * 2 * inter,
          "gate_up must be [rows, 2 * inter]");
  Activation out;
  for (std::vector<double>* array : {&out.silu, &out.dsilu, &out.up, &out.value})
    array->resize(static_cast<std::size_t>(rows * inter));
#pragma omp parallel for schedule(static) if (worth_threads(rows * inter * 32))
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* const gate = gate_up.data() + r * 2 * inter;
    for (std::int64_t i = 0; i < inter; ++i) {
      const auto to = static_cast<std::size_t>(r * inter + i);
      const Silu activated = silu(gate[i]);
      out.silu[to] = activated.value;
      out.dsilu[to] = activated.derivative;
      out.up[to] = gate[inter + i];
      out.value[to] = activated.value * gate[inter + i];
    }
  }
  return out;
}

}  // namespace moediff::reference
