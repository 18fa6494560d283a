// The ops over the prime field: one row an op in kFieldEvaluators, on reference::algebra.
#include "harness/compare/field_stage.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "harness/compare/evaluation.h"
#include "harness/compare/expected_state.h"
#include "harness/compare/linear_layout.h"
#include "harness/compare/params_key.h"
#include "harness/core/check.h"
#include "reference/algebra.h"

namespace moediff {
namespace {

namespace algebra = reference::algebra;
using Elements = std::vector<algebra::Element>;

template <typename T>
std::vector<T> read(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

struct FieldEvaluation {
  const Step& step;
  const StageInputs& inputs;
  FieldResult result;

  int at(std::string_view slot) const { return slot_index(step.op, slot); }
  const StageInput& input(std::string_view slot) const { return inputs[static_cast<std::size_t>(at(slot))]; }
  /// Empty for an absent operand.
  Elements elements(std::string_view slot) const {
    return is_present(step, slot) ? read<algebra::Element>(input(slot).bytes()) : Elements{};
  }
  std::vector<std::int32_t> integers(std::string_view slot) const { return read<std::int32_t>(input(slot).bytes()); }
  template <typename T>
  void output(std::string_view slot, const std::vector<T>& values) {
    result.outputs[at(slot)] = bytes_of(values);
  }
};

void field_dispatch(FieldEvaluation& e) {
  const std::vector<std::int32_t> ids = e.integers("topk_ids");
  const std::int64_t experts = e.step.operands[static_cast<std::size_t>(e.at("expert_offsets"))].shape[0] - 1;
  if (!all_within(ids, experts)) {
    e.result.problem = "topk_ids holds an expert that does not exist";
    return;
  }
  const reference::Dispatch sorted = reference::dispatch(ids, experts);
  e.output("expert_offsets", sorted.offsets);
  e.output("sorted_slots", sorted.slots);
  e.output("slot_rows", sorted.rows);
}

/// Rows of a product: their rows of x, their experts, their slots.
struct FieldRows {
  std::vector<std::int32_t> source, offsets, slots;
};

void field_product(FieldEvaluation& e, const FieldRows& rows) {
  const LinearSlots& slots = linear_slots(e.step.op);
  const Elements x = e.elements(slots.x), x_scales = e.elements(slots.x_scales), weight = e.elements(slots.weight),
                 weight_scales = e.elements(slots.weight_scales);
  Elements row_weights;
  if (is_present(e.step, slots.row_weights)) {
    const Elements all = e.elements(slots.row_weights);
    for (const std::int32_t slot : rows.slots) row_weights.push_back(all[static_cast<std::size_t>(slot)]);
  }
  const Shape& shape = e.input(slots.weight).shape;
  algebra::Linear job;
  job.x = x;
  job.x_scales = x_scales;
  job.weight = weight;
  job.weight_scales = weight_scales;
  job.n = shape[shape.size() - 2];
  job.k = shape.back();
  if (!weight_scales.empty()) {
    const Shape& scales = e.input(slots.weight_scales).shape;
    job.sn = scales[scales.size() - 2];
    job.sk = scales.back();
  }
  job.source = rows.source;
  job.offsets = rows.offsets;
  job.row_weights = row_weights;
  job.quant = product_quant(e.step);
  job.halves = e.step.params.halves;
  e.output(slots.out, algebra::linear(job));
}

FieldRows dense_rows(const FieldEvaluation& e) {
  const auto count = static_cast<std::int32_t>(e.input(linear_slots(e.step.op).x).shape[0]);
  FieldRows rows;
  rows.source.resize(static_cast<std::size_t>(count));
  std::iota(rows.source.begin(), rows.source.end(), 0);
  rows.offsets = {0, count};
  return rows;
}

void field_dense(FieldEvaluation& e) { field_product(e, dense_rows(e)); }

void field_gemm1(FieldEvaluation& e) {
  FieldRows rows{{}, e.integers("expert_offsets"), e.integers("sorted_slots")};
  const std::int64_t tokens = e.input("hidden_states").shape[0], count = std::ssize(rows.slots);
  if (!is_partition(rows.offsets, count) || !all_within(rows.slots, count)) {
    e.result.problem = "expert_offsets or sorted_slots is not a partition of the rows";
    return;
  }
  const std::int64_t width = tokens == 0 ? 1 : count / tokens;
  for (const std::int32_t slot : rows.slots) rows.source.push_back(static_cast<std::int32_t>(slot / width));
  field_product(e, rows);
}

void field_gemm2(FieldEvaluation& e) {
  FieldRows rows = dense_rows(e);
  const std::int64_t count = std::ssize(rows.source);
  rows.offsets = e.integers("expert_offsets");
  if (is_present(e.step, "sorted_slots")) rows.slots = e.integers("sorted_slots");
  if (!is_partition(rows.offsets, count) || !all_within(rows.slots, count)) {
    e.result.problem = "expert_offsets or sorted_slots is not a partition of the rows";
    return;
  }
  field_product(e, rows);
}

Elements activated(const FieldEvaluation& e, std::string_view in) {
  const Shape& shape = e.input(in).shape;
  return algebra::gated_activation(e.step.params.expert.activation, e.elements(in), shape[0], shape[1] / 2);
}

void field_activation(FieldEvaluation& e) {
  e.output(slots(e.step.op)[1].name, activated(e, slots(e.step.op)[0].name));
}

bool activates(OpKind op) { return op == OpKind::activation_quantize || op == OpKind::shared_activation_quantize; }

/// What a quantisation quantises: its input, or the activation of it.
Elements quantised_numbers(const FieldEvaluation& e) {
  const std::string_view in = slots(e.step.op)[0].name;
  return activates(e.step.op) ? activated(e, in) : e.elements(in);
}

void field_quantize(FieldEvaluation& e) {
  const Shape& shape = e.step.operands[1].shape;
  const algebra::Quantised out = algebra::quantise(quantised_numbers(e), shape[0], shape[1], e.step.params.quant);
  e.output(slots(e.step.op)[1].name, out.code);
  e.output(slots(e.step.op)[2].name, out.scale);
}

void field_combine(FieldEvaluation& e) {
  const std::vector<std::int32_t> rows = e.integers("slot_rows");
  const Shape &x = e.input("gemm2_out").shape,
              &out = e.step.operands[static_cast<std::size_t>(e.at("routed_out"))].shape;
  if (!all_within(rows, x[0])) {
    e.result.problem = "slot_rows names a row that does not exist";
    return;
  }
  const std::int64_t width = out[0] == 0 ? 1 : std::ssize(rows) / out[0];
  e.output("routed_out",
           algebra::combine(e.elements("gemm2_out"), rows, e.elements("topk_weights"), out[0], width, x[1]));
}

void field_scale_add(FieldEvaluation& e) {
  e.output("moe_out",
           algebra::scale_add(e.elements("routed_out"), e.elements("shared_out"), e.step.params.field_factor));
}

void field_residual_add(FieldEvaluation& e) {
  e.output("layer_out", algebra::scale_add(e.elements("moe_out"), e.elements("hidden_states"), 1));
}

void field_weigh_input(FieldEvaluation& e) {
  e.output("weighted_hidden", algebra::weigh_rows(e.elements("hidden_states"), e.elements("topk_weights"),
                                                  e.input("hidden_states").shape[1]));
}

struct FieldRow {
  OpKind op;
  void (*evaluate)(FieldEvaluation&);  ///< null: does not exist in this mode
};
constexpr std::array<FieldRow, kOpKinds> kFieldEvaluators{{
    {OpKind::router, nullptr},
    {OpKind::dispatch, field_dispatch},
    {OpKind::gemm1, field_gemm1},
    {OpKind::activation, field_activation},
    {OpKind::gemm2, field_gemm2},
    {OpKind::combine, field_combine},
    {OpKind::shared_gemm1, field_dense},
    {OpKind::shared_activation, field_activation},
    {OpKind::shared_gemm2, field_dense},
    {OpKind::scale_add, field_scale_add},
    {OpKind::residual_add, field_residual_add},
    {OpKind::weigh_input, field_weigh_input},
    {OpKind::quantize_a1, field_quantize},
    {OpKind::quantize_a2, field_quantize},
    {OpKind::activation_quantize, field_quantize},
    {OpKind::shared_quantize_a1, field_quantize},
    {OpKind::shared_quantize_a2, field_quantize},
    {OpKind::shared_activation_quantize, field_quantize},
    {OpKind::convert, nullptr},
}};

}  // namespace

std::shared_ptr<const FieldResult> evaluate_field(const Step& step, const StageInputs& inputs, Expected& expected) {
  Expected::State& state = expected.state();
  Hasher hasher;
  add_call(hasher, step);
  for (const StageInput& input : inputs) hasher.add(std::string_view(input.present ? input.key : "absent"));
  if (const auto found = state.field.find(hasher.value()); found != state.field.end()) return found->second;
  const FieldRow& row = kFieldEvaluators[static_cast<std::size_t>(step.op)];
  CHECK(row.op == step.op, "kFieldEvaluators is in the order of OpKind");
  CHECK(row.evaluate != nullptr, "the op exists in algebra mode");
  FieldEvaluation evaluation{step, inputs, {}};
  row.evaluate(evaluation);
  auto result = std::make_shared<const FieldResult>(std::move(evaluation.result));
  std::size_t held = 0;
  for (const auto& [operand, bytes] : result->outputs) held += bytes.size() / sizeof(double);
  make_room(state, held);
  state.field.emplace(hasher.value(), result);
  return result;
}

std::vector<std::byte> field_codes(const Step& step, const StageInputs& inputs, std::span<const std::byte> scales) {
  const Elements numbers = quantised_numbers({step, inputs, {}}), own = read<algebra::Element>(scales);
  const Shape& shape = step.operands[1].shape;
  std::vector<double> indices(own.size());
  std::iota(indices.begin(), indices.end(), 0.0);
  const std::vector<double> index =
      reference::spread_scales(indices, shape[0], shape[1], reference::scale_groups(step.params.quant));
  Elements inverses;
  for (const algebra::Element scale : own) inverses.push_back(algebra::inverse(scale));
  Elements codes;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    codes.push_back(algebra::multiply(numbers[i], inverses[static_cast<std::size_t>(index[i])]));
  return bytes_of(codes);
}

}  // namespace moediff
