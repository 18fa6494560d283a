// Products, of every quantisation scheme: both operands dequantised in double, expert by expert; the error from the
// order in which the kernel rounds (linear_layout.h), and none on exact data.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/compare/evaluation.h"
#include "harness/compare/linear_layout.h"

namespace moediff {
namespace {

using bounds::Acceptance;
using bounds::Delta;

/// Activations as numbers, and what the bounds need of each row.
struct Activations {
  std::int64_t columns = 0;
  std::vector<double> values;              ///< codes times scales
  std::vector<double> max_scale, sum_abs;  ///< by row
  std::vector<int> grid;
};

/// Rows of a product: which row of x, of which expert, with which weight.
struct ProductRows {
  std::vector<std::int32_t> source, offsets;
  std::vector<double> weights;  ///< empty: none
};

Activations read_activations(const Evaluation& e, const LinearSlots& slots) {
  Activations x;
  const Shape& shape = e.input(slots.x).shape;
  const auto rows = static_cast<std::size_t>(shape[0]);
  x.columns = shape[1];
  x.values = e.doubles(slots.x);
  x.max_scale.assign(rows, 1.0);
  const bool scaled = is_present(e.step, slots.x_scales);
  if (scaled) {
    const std::vector<double> scales = reference::spread_scales(e.doubles(slots.x_scales), shape[0], shape[1],
                                                                reference::scale_groups(product_quant(e.step)));
    std::fill(x.max_scale.begin(), x.max_scale.end(), 0.0);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      double& largest = x.max_scale[i / static_cast<std::size_t>(x.columns)];
      largest = std::max(largest, std::fabs(scales[i]));
      x.values[i] *= scales[i];
    }
  }
  const auto columns = static_cast<std::size_t>(x.columns);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = std::span(x.values).subspan(r * columns, columns);
    x.grid.push_back(bounds::grid_exponent(row));
    x.sum_abs.push_back(
        std::accumulate(row.begin(), row.end(), 0.0, [](double s, double v) { return s + std::fabs(v); }));
  }
  return x;
}

double largest_code(const QuantSpec& quant) {
  return row(quant.scheme).weight == CodeFormat::fp8 ? largest(quant.fp8_dtype()) : 128;
}

/// What one row of a product multiplies, for its bounds.
struct RowContext {
  std::int64_t k;
  double max_scale, sum_abs, weight;
  int grid, weight_grid;
  bool scaled;
};

Delta delta_of(const Evaluation& e, const RowContext& x, const PreparedMatrix& weight, std::size_t column,
               const reference::Terms& terms, std::size_t i) {
  // A sum that overflows on the way leaves infinity or NaN. With scales: before the weight's small scale is multiplied.
  const double before_scale =
      x.scaled ? x.sum_abs * largest_code(product_quant(e.step)) * std::max(1.0, std::fabs(x.weight)) : 0;
  const bool overflows = bounds::may_overflow(std::sqrt(terms.sum_sq_partial[i])) || bounds::may_overflow(before_scale);
  if (std::isfinite(terms.value[i]) && overflows) return bounds::no_claim();
  const double sb = weight.max_scale.empty() ? 1 : weight.max_scale[column], w = std::fabs(x.weight);
  const double tiny = underflow(e.step, x.k, x.max_scale, sb, w), sum_abs = w * terms.sum_abs[i];
  const std::int64_t grid = std::int64_t{x.grid} + weight.grid[column] + x.weight_grid;
  if (bounds::accumulates_exactly(sum_abs, grid, tiny)) return {};
  return bounds::accumulation_error(sum_abs, w * w * terms.sum_sq_partial[i], terms.steps,
                                    tiny + bounds::reference_error(sum_abs, x.k));
}

void append_expert(Evaluation& e, const Activations& x, const ProductRows& rows, const PreparedMatrix& weight,
                   std::int32_t begin, std::int32_t end, Acceptance& out) {
  std::vector<double> gathered;
  for (std::int32_t r = begin; r < end; ++r) {
    const double* row = x.values.data() + rows.source[static_cast<std::size_t>(r)] * x.columns;
    gathered.insert(gathered.end(), row, row + x.columns);
  }
  const reference::Terms terms = reference::linear(gathered, end - begin, weight.matrix, accumulation(e.step));
  const bool scaled = is_present(e.step, linear_slots(e.step.op).x_scales);
  const auto n = static_cast<std::size_t>(weight.matrix.n());
  for (std::size_t i = 0; i < terms.value.size(); ++i) {
    const std::size_t r = static_cast<std::size_t>(begin) + i / n;
    const auto source = static_cast<std::size_t>(rows.source[r]);
    const double w = rows.weights.empty() ? 1 : rows.weights[r];
    const RowContext context{x.columns, x.max_scale[source], x.sum_abs[source],
                             w,         x.grid[source],      rows.weights.empty() ? 0 : bounds::grid_exponent(w),
                             scaled};
    out.value.push_back(w * terms.value[i]);
    out.delta.push_back(delta_of(e, context, weight, i % n, terms, i));
  }
}

void evaluate_product(Evaluation& e, const ProductRows& rows) {
  const LinearSlots& slots = linear_slots(e.step.op);
  const Activations x = read_activations(e, slots);
  static const StageInput kNone;
  const WeightFormat format{product_quant(e.step), e.step.params.halves, e.model, x.columns};
  WeightSet& weights = prepared(e.state, e.input(slots.weight),
                                is_present(e.step, slots.weight_scales) ? e.input(slots.weight_scales) : kNone, format);
  Acceptance& out = e.output(slots.out);
  for (std::size_t expert = 0; expert + 1 < rows.offsets.size(); ++expert) {
    if (rows.offsets[expert] == rows.offsets[expert + 1]) continue;
    append_expert(e, x, rows, weights.expert(static_cast<std::int64_t>(expert)), rows.offsets[expert],
                  rows.offsets[expert + 1], out);
  }
}

ProductRows dense_rows(const Evaluation& e) {
  const auto rows = static_cast<std::int32_t>(e.input(linear_slots(e.step.op).x).shape[0]);
  ProductRows out;
  out.source.resize(static_cast<std::size_t>(rows));
  std::iota(out.source.begin(), out.source.end(), 0);
  out.offsets = {0, rows};
  return out;
}

/// Weights of the rows, by their slots.
std::vector<double> weights_of_rows(const Evaluation& e, std::span<const std::int32_t> slots) {
  std::vector<double> by_row;
  if (!is_present(e.step, "topk_weights")) return by_row;
  const std::vector<double> all = e.doubles("topk_weights");
  for (const std::int32_t slot : slots) by_row.push_back(all[static_cast<std::size_t>(slot)]);
  return by_row;
}

}  // namespace

bool is_partition(std::span<const std::int32_t> offsets, std::int64_t rows) {
  return !offsets.empty() && offsets.front() == 0 && offsets.back() == rows && std::ranges::is_sorted(offsets);
}

bool all_within(std::span<const std::int32_t> values, std::int64_t limit) {
  return std::ranges::all_of(values, [&](std::int32_t v) { return v >= 0 && v < limit; });
}

void evaluate_router(Evaluation& e) { evaluate_product(e, dense_rows(e)); }
void evaluate_shared_gemm1(Evaluation& e) { evaluate_product(e, dense_rows(e)); }
void evaluate_shared_gemm2(Evaluation& e) { evaluate_product(e, dense_rows(e)); }

void evaluate_gemm1(Evaluation& e) {
  const std::vector<std::int32_t> offsets = e.integers("expert_offsets"), slots = e.integers("sorted_slots");
  const auto rows = static_cast<std::int64_t>(slots.size());
  const std::int64_t tokens = e.input("hidden_states").shape[0];
  if (!is_partition(offsets, rows) || !all_within(slots, rows)) {
    e.result.problem = "expert_offsets or sorted_slots is not a partition of the rows";
    return;
  }
  const std::int64_t width = tokens == 0 ? 1 : rows / tokens;
  ProductRows product{{}, offsets, weights_of_rows(e, slots)};
  for (const std::int32_t slot : slots) product.source.push_back(static_cast<std::int32_t>(slot / width));
  evaluate_product(e, product);
}

void evaluate_gemm2(Evaluation& e) {
  ProductRows product = dense_rows(e);
  const auto rows = static_cast<std::int64_t>(product.source.size());
  product.offsets = e.integers("expert_offsets");
  if (!is_partition(product.offsets, rows)) {
    e.result.problem = "expert_offsets is not a partition of the rows";
    return;
  }
  if (is_present(e.step, "topk_weights")) {
    const std::vector<std::int32_t> slots = e.integers("sorted_slots");
    if (!all_within(slots, rows)) {
      e.result.problem = "sorted_slots is not a partition of the rows";
      return;
    }
    product.weights = weights_of_rows(e, slots);
  }
  evaluate_product(e, product);
}

}  // namespace moediff
