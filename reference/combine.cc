// The routed output of a token: sum of its experts' outputs times their weights (equation 12 of the DeepSeek-V3 report,
// arXiv:2412.19437, without the residual and the shared experts), in ascending slot order.
#include <Eigen/Core>
#include <algorithm>

#include "reference/api.h"
#include "reference/parallel.h"
#include "reference/require.h"

namespace moediff::reference {

Terms combine(std::span<const double> x, std::span<const std::int32_t> rows, std::span<const double> weights,
              std::int64_t tokens, std::int64_t width, std::int64_t hidden) {
  using Row = Eigen::Map<Eigen::ArrayXd>;
  using ConstRow = Eigen::Map<const Eigen::ArrayXd>;
  require(tokens >= 0 && width >= 0 && hidden >= 0, "sizes must not be negative");
  require(static_cast<std::int64_t>(rows.size()) == tokens * width, "rows must be [tokens, width]");
  require(weights.empty() || weights.size() == rows.size(), "weights must be [tokens, width]");
  const auto exists = [&](std::int32_t row) {
    return row >= 0 && (row + std::int64_t{1}) * hidden <= static_cast<std::int64_t>(x.size());
  };
  require(std::all_of(rows.begin(), rows.end(), exists), "rows must name rows of x");
  Terms out;
  for (std::vector<double>* array : {&out.value, &out.sum_abs, &out.sum_sq_partial})
    array->resize(static_cast<std::size_t>(tokens * hidden));
  out.steps = width;
#pragma omp parallel for schedule(static) if (worth_threads(tokens * width * hidden))
  for (std::int64_t t = 0; t < tokens; ++t) {
    Row value(out.value.data() + t * hidden, hidden);
    Row sum_abs(out.sum_abs.data() + t * hidden, hidden);
    Row sum_sq_partial(out.sum_sq_partial.data() + t * hidden, hidden);
    for (std::int64_t slot = t * width; slot < (t + 1) * width; ++slot) {
      const auto i = static_cast<std::size_t>(slot);
      const double weight = weights.empty() ? 1.0 : weights[i];
      const ConstRow expert_out(x.data() + rows[i] * hidden, hidden);
      value += weight * expert_out;
      sum_abs += (weight * expert_out).abs();
      sum_sq_partial += value.square();
    }
  }
  return out;
}

}  // namespace moediff::reference
