#include "tests/unit/kernels/ops/naive.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace moediff::test {

Array offsets_of(const std::vector<std::int64_t>& rows_per_expert) {
  Array offsets{{static_cast<std::int64_t>(rows_per_expert.size()) + 1}, {0}};
  for (const std::int64_t rows : rows_per_expert)
    offsets.values.push_back(offsets.values.back() + static_cast<double>(rows));
  return offsets;
}

Array naive_gemm(const Array& a, const Array& weights, const Array* slots, std::int64_t slots_per_token,
                 const Array* offsets) {
  const std::int64_t k = a.columns(), n = weights.shape[weights.shape.size() - 2];
  const std::int64_t rows = slots != nullptr ? slots->shape[0] : a.shape[0];
  Array out{{rows, n}, {}};
  std::int64_t expert = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    while (offsets != nullptr && offsets->values[expert + 1] <= static_cast<double>(r)) ++expert;
    const std::int64_t token = slots != nullptr ? static_cast<std::int64_t>(slots->values[r]) / slots_per_token : r;
    for (std::int64_t c = 0; c < n; ++c) {
      const double* x = &a.values[token * k];
      const double* w = &weights.values[(expert * n + c) * k];
      out.values.push_back(std::inner_product(x, x + k, w, 0.0));
    }
  }
  return out;
}

NaiveDispatch naive_dispatch(const Array& ids, std::int64_t experts) {
  const auto count = static_cast<std::int64_t>(ids.values.size());
  NaiveDispatch out{{{experts + 1}, {0}}, {{count}, {}}, {{count}, std::vector<double>(count)}};
  for (std::int64_t e = 0; e < experts; ++e) {
    for (std::int64_t s = 0; s < count; ++s) {
      if (ids.values[s] != static_cast<double>(e)) continue;
      out.rows.values[s] = static_cast<double>(out.slots.values.size());
      out.slots.values.push_back(static_cast<double>(s));
    }
    out.offsets.values.push_back(static_cast<double>(out.slots.values.size()));
  }
  return out;
}

double naive_act(int kind, double limit, double gate) {
  const auto swish = [](double x, double slope) { return x / (1 + std::exp(-slope * x)); };
  switch (kind) {
    case MD_GELU:
      return 0.5 * gate * std::erfc(-gate / std::sqrt(2.0));
    case MD_GELU_TANH:
      return 0.5 * gate * (1 + std::tanh(std::sqrt(2 / M_PI) * (gate + 0.044715 * gate * gate * gate)));
    case MD_SWIGLU_CLAMPED:
      return swish(std::min(gate, limit), 1);
    case MD_SWIGLUOAI:
      return swish(std::min(gate, limit), 1.702);
    default:
      return swish(gate, 1);
  }
}

double naive_factor(int kind, double limit, double up) {
  if (kind != MD_SWIGLU_CLAMPED && kind != MD_SWIGLUOAI) return up;
  return std::clamp(up, -limit, limit) + (kind == MD_SWIGLUOAI ? 1 : 0);
}

Array naive_activation(const Array& in, const md_params& params, md_dtype dtype) {
  const std::int64_t inter = in.columns() / 2;
  const bool twice = params.activation_rounding == MD_ROUND_TWICE && params.activation != MD_SWIGLUOAI;
  Array out{{in.shape[0], inter}, {}};
  for (std::int64_t r = 0; r < in.shape[0]; ++r) {
    for (std::int64_t c = 0; c < inter; ++c) {
      const double act = naive_act(params.activation, params.limit, in.values[r * 2 * inter + c]);
      const double factor = naive_factor(params.activation, params.limit, in.values[r * 2 * inter + inter + c]);
      out.values.push_back(rounded((twice ? rounded(act, dtype) : act) * factor, dtype));
    }
  }
  return out;
}

Array naive_combine(const Array& in, const Array& slot_rows, const Array* weights, std::int64_t width) {
  const auto slots = static_cast<std::int64_t>(slot_rows.values.size());
  const std::int64_t tokens = slots / width, hidden = in.columns();
  Array out = constant({tokens, hidden}, 0);
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const auto row = static_cast<std::int64_t>(slot_rows.values[slot]);
    const double weight = weights == nullptr ? 1 : weights->values[slot];
    for (std::int64_t c = 0; c < hidden; ++c) {
      out.values[slot / width * hidden + c] += weight * in.values[row * hidden + c];
    }
  }
  return out;
}

Array rounded(Array array, md_dtype dtype) {
  for (double& v : array.values) v = rounded(v, dtype);
  return array;
}

}  // namespace moediff::test
