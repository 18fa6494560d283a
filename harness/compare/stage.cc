// Each op's formula from the reference, and the form of its rounding: one row an op in kEvaluators.
#include "harness/compare/stage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/scores.h"
#include "harness/compare/expected_state.h"
#include "harness/core/check.h"
#include "harness/core/hash.h"

namespace moediff {
namespace {

using bounds::Acceptance;
using bounds::Delta;
using Form = RoundingRow::Form;

struct Evaluation {
  const Step& step;
  DType model;
  const StageInputs& inputs;
  Expected::State& state;
  StageResult result;

  const StageInput& input(std::string_view slot) const { return inputs[slot_index(step.op, slot)]; }
  std::vector<double> doubles(std::string_view slot) const {
    return to_doubles(input(slot).dtype, input(slot).bytes());
  }
  std::vector<std::int32_t> integers(std::string_view slot) const {
    const std::vector<double> values = doubles(slot);
    return {values.begin(), values.end()};
  }
  Acceptance& output(std::string_view slot, Form form) {
    Acceptance& acceptance = result.outputs[slot_index(step.op, slot)];
    acceptance.form = form;
    acceptance.dtype = step.operands[slot_index(step.op, slot)].dtype;
    return acceptance;
  }
};

/// Appends the terms of a block of rows; `grid_x`, `grid_w` tell where the accumulation is exact.
void append_terms(Acceptance& out, reference::Terms terms, int grid_x, int grid_w) {
  out.value.insert(out.value.end(), terms.value.begin(), terms.value.end());
  for (std::size_t i = 0; i < terms.value.size(); ++i) {
    const bool exact = bounds::accumulates_exactly(terms.sum_abs[i], grid_x, grid_w);
    out.delta.push_back(exact ? Delta{}
                              : bounds::accumulation_error(terms.sum_abs[i], terms.sum_sq_partial[i], terms.steps));
  }
}

void evaluate_dense(Evaluation& e, std::string_view x_slot, std::string_view weight_slot, std::string_view out_slot) {
  const std::vector<double> x = e.doubles(x_slot);
  const PreparedMatrix& weight = prepared(e.state, e.input(weight_slot)).expert(0);
  const std::int64_t rows = e.input(x_slot).shape[0];
  append_terms(e.output(out_slot, Form::dot), reference::linear(x, rows, weight.matrix, {e.step.params.split_k}),
               bounds::grid_exponent(x), weight.grid);
}

bool is_partition(std::span<const std::int32_t> offsets, std::int64_t rows) {
  return !offsets.empty() && offsets.front() == 0 && offsets.back() == rows && std::ranges::is_sorted(offsets);
}

bool all_within(std::span<const std::int32_t> values, std::int64_t limit) {
  return std::ranges::all_of(values, [&](std::int32_t v) { return v >= 0 && v < limit; });
}

/// Expert by expert: the rows of x that `source` names, times that expert's matrix.
void evaluate_grouped(Evaluation& e, std::string_view x_slot, std::span<const std::int32_t> source,
                      std::span<const std::int32_t> offsets, std::string_view weight_slot, std::string_view out_slot) {
  const std::vector<double> x = e.doubles(x_slot);
  WeightSet& weights = prepared(e.state, e.input(weight_slot));
  Acceptance& out = e.output(out_slot, Form::dot);
  const int grid_x = bounds::grid_exponent(x);
  const std::int64_t columns = weights.k();
  for (std::size_t expert = 0; expert + 1 < offsets.size(); ++expert) {
    const std::int64_t begin = offsets[expert], end = offsets[expert + 1];
    if (begin == end) continue;
    std::vector<double> rows;
    for (std::int64_t r = begin; r < end; ++r) {
      const double* row = x.data() + source[r] * columns;
      rows.insert(rows.end(), row, row + columns);
    }
    const PreparedMatrix& weight = weights.expert(static_cast<std::int64_t>(expert));
    append_terms(out, reference::linear(rows, end - begin, weight.matrix, {e.step.params.split_k}), grid_x,
                 weight.grid);
  }
}

void evaluate_router(Evaluation& e) { evaluate_dense(e, "hidden_states", "gate_weight", "router_logits"); }

void evaluate_dispatch(Evaluation& e) {
  const std::int64_t experts = e.step.operands[slot_index(e.step.op, "expert_offsets")].shape[0] - 1;
  const std::vector<std::int32_t> ids = e.integers("topk_ids");
  if (!all_within(ids, experts)) {
    e.result.problem = "topk_ids holds an expert that does not exist";
    return;
  }
  const reference::Dispatch sorted = reference::dispatch(ids, experts);
  e.output("expert_offsets", Form::exact).value.assign(sorted.offsets.begin(), sorted.offsets.end());
  e.output("sorted_slots", Form::exact).value.assign(sorted.slots.begin(), sorted.slots.end());
  e.output("slot_rows", Form::exact).value.assign(sorted.rows.begin(), sorted.rows.end());
}

void evaluate_gemm1(Evaluation& e) {
  const std::vector<std::int32_t> offsets = e.integers("expert_offsets"), slots = e.integers("sorted_slots");
  const auto rows = static_cast<std::int64_t>(slots.size());
  const std::int64_t tokens = e.input("hidden_states").shape[0];
  if (!is_partition(offsets, rows) || !all_within(slots, rows)) {
    e.result.problem = "expert_offsets or sorted_slots is not a partition of the rows";
    return;
  }
  const std::int64_t width = tokens == 0 ? 1 : rows / tokens;
  std::vector<std::int32_t> source;
  for (const std::int32_t slot : slots) source.push_back(static_cast<std::int32_t>(slot / width));
  evaluate_grouped(e, "hidden_states", source, offsets, "w13", "gemm1_out");
}

void evaluate_gemm2(Evaluation& e) {
  const std::vector<std::int32_t> offsets = e.integers("expert_offsets");
  const std::int64_t rows = e.input("act_out").shape[0];
  if (!is_partition(offsets, rows)) {
    e.result.problem = "expert_offsets is not a partition of the rows";
    return;
  }
  std::vector<std::int32_t> source;
  for (std::int64_t r = 0; r < rows; ++r) source.push_back(static_cast<std::int32_t>(r));
  evaluate_grouped(e, "act_out", source, offsets, "w2", "gemm2_out");
}

void evaluate_silu(Evaluation& e, std::string_view in_slot, std::string_view out_slot) {
  const std::vector<double> gate_up = e.doubles(in_slot);
  const std::int64_t rows = e.input(in_slot).shape[0], inter = e.input(in_slot).shape[1] / 2;
  reference::Activation exact = reference::silu_and_mul(gate_up, rows, inter);
  Acceptance& out = e.output(out_slot, Form::silu_mul);
  for (std::size_t i = 0; i < exact.value.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(inter), column = i % static_cast<std::size_t>(inter);
    const double error = bounds::silu_error(gate_up[row * 2 * static_cast<std::size_t>(inter) + column], exact.silu[i]);
    out.delta.push_back({error, error});
  }
  out.value = std::move(exact.value);
  out.inner = std::move(exact.silu);
  out.second = std::move(exact.up);
}

void evaluate_activation(Evaluation& e) { evaluate_silu(e, "gemm1_out", "act_out"); }
void evaluate_shared_activation(Evaluation& e) { evaluate_silu(e, "shared_gemm1_out", "shared_act_out"); }

void evaluate_combine(Evaluation& e) {
  const std::vector<double> x = e.doubles("gemm2_out"), weights = e.doubles("topk_weights");
  const std::vector<std::int32_t> rows = e.integers("slot_rows");
  const Shape& x_shape = e.input("gemm2_out").shape;
  const Shape& weights_shape = e.input("topk_weights").shape;
  if (!all_within(rows, x_shape[0])) {
    e.result.problem = "slot_rows names a row that does not exist";
    return;
  }
  append_terms(e.output("routed_out", Form::weighted),
               reference::combine(x, rows, weights, weights_shape[0], weights_shape[1], x_shape[1]),
               bounds::grid_exponent(weights), bounds::grid_exponent(x));
}

void evaluate_shared_gemm1(Evaluation& e) { evaluate_dense(e, "hidden_states", "shared_w13", "shared_gemm1_out"); }
void evaluate_shared_gemm2(Evaluation& e) { evaluate_dense(e, "shared_act_out", "shared_w2", "shared_out"); }

void evaluate_scale_add(Evaluation& e) {
  // The kernel's factor is a float: its rounding is part of the definition, not of the error.
  const double factor = static_cast<float>(e.step.params.factor);
  Acceptance& out = e.output("moe_out", Form::scale_add);
  out.inner = e.doubles("routed_out");
  for (double& value : out.inner) value *= factor;
  out.value = out.inner;
  if (!e.input("shared_out").present) return;
  out.second = e.doubles("shared_out");
  for (std::size_t i = 0; i < out.value.size(); ++i) out.value[i] += out.second[i];
}

void evaluate_residual_add(Evaluation& e) {
  Acceptance& out = e.output("layer_out", Form::add);
  out.value = e.doubles("moe_out");
  const std::vector<double> hidden = e.doubles("hidden_states");
  for (std::size_t i = 0; i < out.value.size(); ++i) out.value[i] += hidden[i];
}

struct EvaluatorRow {
  OpKind op;
  void (*evaluate)(Evaluation&);
};
constexpr std::array<EvaluatorRow, kOpKinds> kEvaluators{{
    {OpKind::router, evaluate_router},
    {OpKind::dispatch, evaluate_dispatch},
    {OpKind::gemm1, evaluate_gemm1},
    {OpKind::activation, evaluate_activation},
    {OpKind::gemm2, evaluate_gemm2},
    {OpKind::combine, evaluate_combine},
    {OpKind::shared_gemm1, evaluate_shared_gemm1},
    {OpKind::shared_activation, evaluate_shared_activation},
    {OpKind::shared_gemm2, evaluate_shared_gemm2},
    {OpKind::scale_add, evaluate_scale_add},
    {OpKind::residual_add, evaluate_residual_add},
}};

/// Everything the result depends on. Rows are independent of one another, but results are kept a call.
std::uint64_t content_hash(const Step& step, DType model, const StageInputs& inputs) {
  Hasher hasher;
  const auto number = [&](auto n) { hasher.add(static_cast<std::int64_t>(n)); };
  number(step.op);
  number(model);
  number(step.params.split_k);
  number(std::bit_cast<std::int64_t>(step.params.factor));
  for (const Operand& operand : step.operands) {
    number(operand.dtype);
    for (const std::int64_t extent : operand.shape) number(extent);
  }
  for (const StageInput& input : inputs) {
    number(input.present);
    hasher.add(std::string_view(input.key));
  }
  return hasher.value();
}

std::size_t doubles_held(const StageResult& result) {
  std::size_t sum = 0;
  for (const Acceptance& a : result.outputs)
    sum += a.value.size() + 2 * a.delta.size() + a.inner.size() + a.second.size();
  return sum;
}

}  // namespace

reference::RouterConfig router_config(const Step& step, std::int64_t experts) {
  const OpParams& p = step.params;
  return {experts, p.top_k, p.n_group, p.topk_group, p.norm_topk_prob, static_cast<float>(p.factor)};
}

std::shared_ptr<const StageResult> evaluate(const Step& step, DType model, const StageInputs& inputs,
                                            Expected& expected) {
  Expected::State& state = expected.state();
  const std::uint64_t key = content_hash(step, model, inputs);
  if (const auto found = state.stages.find(key); found != state.stages.end()) return found->second;
  Evaluation evaluation{step, model, inputs, state, {}};
  evaluation.result.outputs.resize(step.operands.size());
  CHECK(kEvaluators[static_cast<std::size_t>(step.op)].op == step.op, "kEvaluators is in the order of OpKind");
  kEvaluators[static_cast<std::size_t>(step.op)].evaluate(evaluation);
  auto result = std::make_shared<const StageResult>(std::move(evaluation.result));
  make_room(state, doubles_held(*result));
  state.stages.emplace(key, result);
  return result;
}

}  // namespace moediff
