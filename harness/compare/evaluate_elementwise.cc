// Everything that is no product and no quantisation: dispatch, activation, sums, single operations, conversion.
#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/activation.h"
#include "harness/compare/bounds/constants.h"
#include "harness/compare/evaluation.h"
#include "harness/compare/linear_layout.h"

namespace moediff {
namespace {

using bounds::Acceptance;
using bounds::Delta;
using Form = RoundingRow::Form;

/// Exactness of a weighted sum of few terms, by the grid of its products.
Delta sum_delta(const reference::Terms& terms, std::size_t i, std::int64_t grid, double underflow) {
  if (std::isfinite(terms.value[i]) && bounds::may_overflow(std::sqrt(terms.sum_sq_partial[i])))
    return bounds::no_claim();
  if (bounds::accumulates_exactly(terms.sum_abs[i], grid, underflow)) return {};
  return bounds::accumulation_error(terms.sum_abs[i], terms.sum_sq_partial[i], terms.steps, underflow);
}

/// One product of two fp32 numbers with errors: f (1 + …) h (1 + …), and its own rounding.
Delta product_delta(double f, double f_error, double h, double h_error) {
  const double error =
      f_error * (std::fabs(h) + h_error) + std::fabs(f) * h_error + bounds::kU32 * std::fabs(f * h) + bounds::kTiny32;
  return {error, error};
}

/// The slots' terms of moe_sum, which keeps its accumulator in the model dtype for these numbers of slots.
bool sums_in_model_dtype(const Step& step, std::int64_t width) {
  return step.params.expert.sum == CombineSum::moe_sum && width >= 2 && width <= 4;
}

/// One weighted sum: the grid of its terms is that of products, so an exact one is found element by element.
struct Combination {
  std::vector<double> x, weights;
  std::vector<std::int32_t> rows;
  std::size_t width, hidden;
  double weight(std::size_t slot) const { return weights.empty() ? 1 : weights[slot]; }
  double term(std::size_t token, std::size_t j, std::size_t h) const {
    const std::size_t slot = token * width + j;
    return x[static_cast<std::size_t>(rows[slot]) * hidden + h];
  }
};

void append_sums(const Combination& c, const reference::Terms& terms, Acceptance& out) {
  out.value = terms.value;
  for (std::size_t i = 0; i < terms.value.size(); ++i) {
    const std::size_t token = i / c.hidden;
    std::int64_t grid = 1 << 20;
    for (std::size_t j = 0; j < c.width; ++j) {
      const double term = c.term(token, j, i % c.hidden), weight = c.weight(token * c.width + j);
      if (term != 0 && weight != 0)
        grid = std::min(grid, std::int64_t{bounds::grid_exponent(term)} + bounds::grid_exponent(weight));
    }
    const double underflow = static_cast<double>(c.width) * bounds::kTiny32;
    out.delta.push_back(sum_delta(terms, i, grid, underflow));
  }
}

void append_chains(const Combination& c, const reference::Terms& terms, Acceptance& out) {
  out.form = Form::rounded_sum;
  out.terms = c.width;
  out.value = terms.value;
  for (std::size_t i = 0; i < terms.value.size(); ++i) {
    for (std::size_t j = 0; j < c.width; ++j)
      out.inner.push_back(c.weight(i / c.hidden * c.width + j) * c.term(i / c.hidden, j, i % c.hidden));
  }
}

void evaluate_gated(Evaluation& e, std::string_view in, std::string_view out_slot) {
  const ActivationValues values = activation_values(e, in);
  Acceptance& out = e.output(out_slot);
  const ExpertPolicy& policy = e.step.params.expert;
  const bool twice =
      policy.activation_rounding == ActivationRounding::twice && policy.activation != ActivationKind::swigluoai;
  out.value = values.exact.value;
  if (twice) {
    out.inner = values.exact.act;
    out.second = values.exact.factor;
    for (const double error : values.act_error) out.delta.push_back({error, error});
  } else {  // the product in fp32 is the only thing that is rounded
    out.form = Form::dot;
    out.delta = values.product;
  }
}

}  // namespace

ActivationValues activation_values(const Evaluation& e, std::string_view in) {
  const std::vector<double> gate_up = e.doubles(in);
  const std::int64_t rows = e.input(in).shape[0], inter = e.input(in).shape[1] / 2;
  const ActivationKind kind = e.step.params.expert.activation;
  const double limit = static_cast<float>(e.step.params.expert.limit);
  ActivationValues values{reference::gated_activation(kind, limit, gate_up, rows, inter), {}, {}};
  for (std::size_t i = 0; i < values.exact.value.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(inter), column = i % static_cast<std::size_t>(inter);
    const double gate = gate_up[row * 2 * static_cast<std::size_t>(inter) + column], act = values.exact.act[i];
    const double error = bounds::activation_error(kind, limit, gate, act);
    values.act_error.push_back(error);
    values.product.push_back(
        product_delta(act, error, values.exact.factor[i], bounds::factor_error(kind, values.exact.factor[i])));
  }
  return values;
}

void evaluate_dispatch(Evaluation& e) {
  const std::int64_t experts = e.output_shape("expert_offsets")[0] - 1;
  const std::vector<std::int32_t> ids = e.integers("topk_ids");
  if (!all_within(ids, experts)) {
    e.result.problem = "topk_ids holds an expert that does not exist";
    return;
  }
  const reference::Dispatch sorted = reference::dispatch(ids, experts);
  e.output("expert_offsets").value.assign(sorted.offsets.begin(), sorted.offsets.end());
  e.output("sorted_slots").value.assign(sorted.slots.begin(), sorted.slots.end());
  e.output("slot_rows").value.assign(sorted.rows.begin(), sorted.rows.end());
}

void evaluate_activation(Evaluation& e) {
  const bool shared = e.step.op == OpKind::shared_activation;
  evaluate_gated(e, shared ? "shared_gemm1_out" : "gemm1_out", shared ? "shared_act_out" : "act_out");
}

void evaluate_combine(Evaluation& e) {
  const Shape &x = e.input("gemm2_out").shape, &out = e.output_shape("routed_out");
  Combination c{e.doubles("gemm2_out"), {}, e.integers("slot_rows"), 0, static_cast<std::size_t>(x[1])};
  if (is_present(e.step, "topk_weights")) c.weights = e.doubles("topk_weights");
  const std::int64_t tokens = out[0], width = tokens == 0 ? 1 : static_cast<std::int64_t>(c.rows.size()) / tokens;
  c.width = static_cast<std::size_t>(width);
  if (!all_within(c.rows, x[0])) {
    e.result.problem = "slot_rows names a row that does not exist";
    return;
  }
  const reference::Terms terms = reference::combine(c.x, c.rows, c.weights, tokens, width, x[1]);
  Acceptance& expected = e.output("routed_out");
  sums_in_model_dtype(e.step, width) ? append_chains(c, terms, expected) : append_sums(c, terms, expected);
}

void evaluate_scale_add(Evaluation& e) {
  // The kernel's factor is a float: its rounding is part of the definition, not of the error.
  const double factor = static_cast<float>(e.step.params.factor);
  Acceptance& out = e.output("moe_out");
  out.inner = e.doubles("routed_out");
  for (double& value : out.inner) value *= factor;
  out.value = out.inner;
  if (!e.input("shared_out").present) return;
  out.second = e.doubles("shared_out");
  for (std::size_t i = 0; i < out.value.size(); ++i) out.value[i] += out.second[i];
}

void evaluate_residual_add(Evaluation& e) {
  Acceptance& out = e.output("layer_out");
  out.value = e.doubles("moe_out");
  const std::vector<double> hidden = e.doubles("hidden_states");
  for (std::size_t i = 0; i < out.value.size(); ++i) out.value[i] += hidden[i];
}

void evaluate_weigh_input(Evaluation& e) {
  Acceptance& out = e.output("weighted_hidden");
  out.value = e.doubles("hidden_states");
  const std::vector<double> weights = e.doubles("topk_weights");
  const auto columns = static_cast<std::size_t>(e.input("hidden_states").shape[1]);
  for (std::size_t i = 0; i < out.value.size(); ++i) out.value[i] *= round_to(out.dtype, weights[i / columns]);
}

void evaluate_convert(Evaluation& e) {
  Acceptance& out = e.output("to");
  for (const double from : e.doubles("from")) {
    double to = round_to(out.dtype, from);
    if (e.step.params.saturate && std::isfinite(from) && !std::isfinite(to))
      to = std::copysign(largest(out.dtype), from);
    out.value.push_back(to);
  }
}

}  // namespace moediff
