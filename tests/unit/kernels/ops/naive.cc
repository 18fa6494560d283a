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

NaiveRouting naive_route(const Array& logits, const Array& bias, const md_params& params) {
  const std::int64_t tokens = logits.shape[0], experts = logits.shape[1], size = experts / params.n_group;
  NaiveRouting out{{{tokens, params.top_k}, {}}, {{tokens, params.top_k}, {}}};
  const auto descending = [](const std::vector<double>& by) {
    std::vector<std::int64_t> order(by.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return by[a] > by[b]; });
    return order;
  };
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<double> score, choice, masked(experts, -INFINITY), group;
    for (std::int64_t e = 0; e < experts; ++e) {
      score.push_back(1 / (1 + std::exp(-logits.values[t * experts + e])));
      choice.push_back(score[e] + bias.values[e]);
    }
    for (std::int64_t g = 0; g < params.n_group; ++g) {
      std::vector<double> sorted(choice.begin() + g * size, choice.begin() + (g + 1) * size);
      std::sort(sorted.rbegin(), sorted.rend());
      group.push_back(size == 1 ? sorted[0] : sorted[0] + sorted[1]);
    }
    const std::vector<std::int64_t> groups = descending(group);
    for (int i = 0; i < params.topk_group; ++i) {
      std::copy_n(choice.begin() + groups[i] * size, size, masked.begin() + groups[i] * size);
    }
    const std::vector<std::int64_t> order = descending(masked);
    double sum = 0;
    for (int j = 0; j < params.top_k; ++j) sum += score[order[j]];
    for (int j = 0; j < params.top_k; ++j) {
      out.ids.values.push_back(static_cast<double>(order[j]));
      out.weights.values.push_back(score[order[j]] / (params.norm_topk_prob != 0 ? sum : 1) * params.factor);
    }
  }
  return out;
}

Array naive_activation(const Array& in, md_dtype dtype) {
  const std::int64_t inter = in.columns() / 2;
  Array out{{in.shape[0], inter}, {}};
  for (std::int64_t r = 0; r < in.shape[0]; ++r) {
    for (std::int64_t c = 0; c < inter; ++c) {
      const double gate = in.values[r * 2 * inter + c], up = in.values[r * 2 * inter + inter + c];
      out.values.push_back(rounded(rounded(gate / (1 + std::exp(-gate)), dtype) * up, dtype));
    }
  }
  return out;
}

Array naive_combine(const Array& in, const Array& slot_rows, const Array& weights) {
  const std::int64_t tokens = weights.shape[0], width = weights.shape[1], hidden = in.columns();
  Array out = constant({tokens, hidden}, 0);
  for (std::int64_t slot = 0; slot < tokens * width; ++slot) {
    const auto row = static_cast<std::int64_t>(slot_rows.values[slot]);
    for (std::int64_t c = 0; c < hidden; ++c) {
      out.values[slot / width * hidden + c] += weights.values[slot] * in.values[row * hidden + c];
    }
  }
  return out;
}

Array rounded(Array array, md_dtype dtype) {
  for (double& v : array.values) v = rounded(v, dtype);
  return array;
}

}  // namespace moediff::test
