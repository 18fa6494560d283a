// The ops of an MoE layer over numbers with errors: one row an op in kPropagators.
#include "harness/compare/chained_stage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "harness/compare/bounds/propagation_rounding.h"
#include "harness/compare/linear_layout.h"
#include "harness/compare/stage.h"
#include "harness/core/check.h"
#include "harness/core/formats.h"

namespace moediff {
namespace {

using bounds::Uncertain;

struct Propagation {
  const Step& step;
  DType model;
  const ChainedInputs& inputs;
  std::map<int, Uncertain> outputs;

  int at(std::string_view slot) const { return slot_index(step.op, slot); }
  const Operand& operand(std::string_view slot) const { return step.operands[static_cast<std::size_t>(at(slot))]; }
  /// Null for an absent operand.
  const Uncertain* maybe(std::string_view slot) const {
    return is_present(step, slot) ? inputs.numbers[static_cast<std::size_t>(at(slot))].get() : nullptr;
  }
  const Uncertain& input(std::string_view slot) const { return *inputs.numbers[static_cast<std::size_t>(at(slot))]; }
  WeightSet& weight(std::string_view slot) const { return *inputs.weights[static_cast<std::size_t>(at(slot))]; }
  std::vector<std::int32_t> integers(std::string_view slot) const {
    return {input(slot).value.begin(), input(slot).value.end()};
  }
  void output(std::string_view slot, Uncertain numbers) { outputs[at(slot)] = std::move(numbers); }
  /// Stores in the output's dtype.
  void stored_output(std::string_view slot, Uncertain numbers) {
    bounds::store(numbers, operand(slot).dtype);
    output(slot, std::move(numbers));
  }
};

Uncertain exact_integers(const std::vector<std::int32_t>& values) {
  return bounds::exact_values({values.begin(), values.end()});
}

std::vector<std::int32_t> identity_rows(std::int64_t rows) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Largest |value| with its error, where it is finite.
double largest_of(const Uncertain* numbers) {
  double largest = 1;
  for (std::size_t i = 0; numbers != nullptr && i < numbers->size(); ++i) {
    if (std::isfinite(numbers->hard[i])) largest = std::max(largest, std::fabs(numbers->value[i]) + numbers->hard[i]);
  }
  return largest;
}

double largest_weight_scale(const PreparedMatrix& matrix) {
  return matrix.max_scale.empty() ? 1 : *std::max_element(matrix.max_scale.begin(), matrix.max_scale.end());
}

/// The product of an op: rows `source` of x by expert. With the routing weight of each row, where it belongs here.
void propagate_product(Propagation& p, const std::vector<std::int32_t>& source,
                       const std::vector<std::int32_t>& offsets, const std::vector<std::int32_t>& slots_of_rows) {
  const LinearSlots& slots = linear_slots(p.step.op);
  const bounds::Scales scales{p.maybe(slots.x_scales), is_present(p.step, slots.x_scales)
                                                           ? reference::scale_groups(product_quant(p.step))
                                                           : reference::ScaleGroups{}};
  std::vector<bounds::LinearPart> parts;
  double sb = 1;
  for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
    if (offsets[e] == offsets[e + 1]) continue;
    const PreparedMatrix& matrix = p.weight(slots.weight).expert(static_cast<std::int64_t>(e));
    sb = std::max(sb, largest_weight_scale(matrix));
    parts.push_back({&matrix.matrix, matrix.grid, {source.begin() + offsets[e], source.begin() + offsets[e + 1]}});
  }
  const Uncertain* weights = slots.row_weights.empty() ? nullptr : p.maybe(slots.row_weights);
  const std::int64_t columns = p.operand(slots.x).shape[1];
  const double tiny = underflow(p.step, columns, largest_of(scales.values), sb, largest_of(weights));
  Uncertain out = bounds::linear(p.input(slots.x), scales, columns, parts, accumulation(p.step), tiny);
  if (weights != nullptr) bounds::weigh_rows(out, *weights, slots_of_rows, p.operand(slots.out).shape[1]);
  p.stored_output(slots.out, std::move(out));
}

void propagate_dense(Propagation& p) {
  const std::int64_t rows = p.operand(linear_slots(p.step.op).x).shape[0];
  propagate_product(p, identity_rows(rows), {0, static_cast<std::int32_t>(rows)}, {});
}

void propagate_router(Propagation& p) {
  propagate_dense(p);
  const Uncertain& logits = p.outputs.at(p.at("router_logits"));
  const Operand& stored = p.operand("router_logits");
  const std::int64_t tokens = stored.shape[0];
  const reference::RouterConfig config = router_config(p.step, stored.shape[1], p.model);
  const std::vector<double> bias = p.maybe("gate_bias") == nullptr ? std::vector<double>{} : p.input("gate_bias").value;
  std::vector<std::int32_t> ids = p.inputs.candidate_ids.value_or(std::vector<std::int32_t>{});
  if (!p.inputs.candidate_ids) {
    std::vector<double> rounded = logits.value;
    for (double& z : rounded) z = stored.dtype == DType::f32 ? z : round_to(stored.dtype, z);
    ids = reference::route(rounded, bias, tokens, config).ids;
  }
  p.output("topk_ids", exact_integers(ids));
  p.output("topk_weights", bounds::routing_weights(logits, bias, ids, tokens, config));
}

void propagate_dispatch(Propagation& p) {
  const std::int64_t experts = p.operand("expert_offsets").shape[0] - 1;
  const std::vector<std::int32_t> ids = p.integers("topk_ids");
  if (!std::ranges::all_of(ids, [&](std::int32_t id) { return id >= 0 && id < experts; })) return;
  const reference::Dispatch sorted = reference::dispatch(ids, experts);
  p.output("expert_offsets", exact_integers(sorted.offsets));
  p.output("sorted_slots", exact_integers(sorted.slots));
  p.output("slot_rows", exact_integers(sorted.rows));
}

void propagate_gemm1(Propagation& p) {
  const std::vector<std::int32_t> slots_of_rows = p.integers("sorted_slots");
  const std::int64_t tokens = p.operand("hidden_states").shape[0];
  const std::int64_t width = tokens == 0 ? 1 : std::ssize(slots_of_rows) / tokens;
  std::vector<std::int32_t> source;
  for (const std::int32_t slot : slots_of_rows) source.push_back(static_cast<std::int32_t>(slot / width));
  propagate_product(p, source, p.integers("expert_offsets"), slots_of_rows);
}

void propagate_gemm2(Propagation& p) {
  std::vector<std::int32_t> slots_of_rows;
  if (p.maybe("sorted_slots") != nullptr) slots_of_rows = p.integers("sorted_slots");
  propagate_product(p, identity_rows(p.operand("act_out").shape[0]), p.integers("expert_offsets"), slots_of_rows);
}

bool activates_twice(const ExpertPolicy& policy) {
  return policy.activation_rounding == ActivationRounding::twice && policy.activation != ActivationKind::swigluoai;
}

void propagate_activation(Propagation& p) {
  const std::string_view in = slots(p.step.op)[0].name, out = slots(p.step.op)[1].name;
  const Shape& shape = p.operand(in).shape;
  const ExpertPolicy& policy = p.step.params.expert;
  Uncertain activated = bounds::gated_activation(p.input(in), shape[0], shape[1] / 2, policy, activates_twice(policy),
                                                 p.operand(out).dtype);
  // The product of an fp32 activation was rounded already; that of two rounded factors was not.
  for (std::size_t i = 0; i < activated.size() && p.operand(out).dtype == DType::f32 && activates_twice(policy); ++i)
    bounds::add_rounding_unless_held(activated, i, DType::f32, activated.value[i]);
  p.stored_output(out, std::move(activated));
}

void quantise(Propagation& p, const Uncertain& x, std::int64_t rows, std::int64_t columns) {
  bounds::UncertainCodes out = bounds::quantise(x, rows, columns, p.step.params.quant);
  p.output(slots(p.step.op)[1].name, std::move(out.codes));
  p.output(slots(p.step.op)[2].name, std::move(out.scales));
}

void propagate_quantize(Propagation& p) {
  const Shape& shape = p.step.operands[0].shape;
  quantise(p, p.input(slots(p.step.op)[0].name), shape[0], shape[1]);
}

void propagate_activation_quantize(Propagation& p) {
  const Shape& shape = p.step.operands[0].shape;
  const Uncertain x = bounds::gated_activation(p.input(slots(p.step.op)[0].name), shape[0], shape[1] / 2,
                                               p.step.params.expert, false, DType::f32);
  quantise(p, x, shape[0], shape[1] / 2);
}

void propagate_combine(Propagation& p) {
  const Shape &out = p.operand("routed_out").shape, &x = p.operand("gemm2_out").shape;
  const std::vector<std::int32_t> rows = p.integers("slot_rows");
  const std::int64_t width = out[0] == 0 ? 1 : std::ssize(rows) / out[0];
  const bool rounds_each = p.step.params.expert.sum == CombineSum::moe_sum && width >= 2 && width <= 4;
  p.output("routed_out", bounds::combine(p.input("gemm2_out"), rows, p.maybe("topk_weights"), out[0], x[1], rounds_each,
                                         p.operand("routed_out").dtype));
}

void propagate_scale_add(Propagation& p) {
  p.output("moe_out", bounds::scale_add(p.input("routed_out"), p.maybe("shared_out"),
                                        static_cast<float>(p.step.params.factor), p.operand("moe_out").dtype));
}

void propagate_residual_add(Propagation& p) {
  p.output("layer_out", bounds::add(p.input("moe_out"), p.input("hidden_states"), p.operand("layer_out").dtype));
}

void propagate_weigh_input(Propagation& p) {
  p.output("weighted_hidden",
           bounds::weigh_input(p.input("hidden_states"), p.input("topk_weights"), p.operand("hidden_states").shape[1],
                               p.operand("weighted_hidden").dtype));
}

void propagate_convert(Propagation& p) {
  Uncertain out = p.input("from");
  const DType dtype = p.operand("to").dtype;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out.hard[i] != 0) bounds::add_rounding(out, i, dtype, out.value[i], 1);
    double to = round_to(dtype, out.value[i]);
    if (p.step.params.saturate && std::isfinite(out.value[i]) && !std::isfinite(to))
      to = std::copysign(largest(dtype), out.value[i]);
    if (out.hard[i] == 0) out.value[i] = to;  // one rounding of an exact value is exact
  }
  p.output("to", std::move(out));
}

struct PropagatorRow {
  OpKind op;
  void (*propagate)(Propagation&);
};
constexpr std::array<PropagatorRow, kOpKinds> kPropagators{{
    {OpKind::router, propagate_router},
    {OpKind::dispatch, propagate_dispatch},
    {OpKind::gemm1, propagate_gemm1},
    {OpKind::activation, propagate_activation},
    {OpKind::gemm2, propagate_gemm2},
    {OpKind::combine, propagate_combine},
    {OpKind::shared_gemm1, propagate_dense},
    {OpKind::shared_activation, propagate_activation},
    {OpKind::shared_gemm2, propagate_dense},
    {OpKind::scale_add, propagate_scale_add},
    {OpKind::residual_add, propagate_residual_add},
    {OpKind::weigh_input, propagate_weigh_input},
    {OpKind::quantize_a1, propagate_quantize},
    {OpKind::quantize_a2, propagate_quantize},
    {OpKind::activation_quantize, propagate_activation_quantize},
    {OpKind::shared_quantize_a1, propagate_quantize},
    {OpKind::shared_quantize_a2, propagate_quantize},
    {OpKind::shared_activation_quantize, propagate_activation_quantize},
    {OpKind::convert, propagate_convert},
}};

constexpr std::array<std::string_view, 5> kWeightSlots{"gate_weight", "w13", "w2", "shared_w13", "shared_w2"};
constexpr std::array<std::string_view, 2> kWeightScaleSlots{"w13_scales", "w2_scales"};
constexpr std::array<std::string_view, 2> kOffsetSlots{"w13_offset", "w2_offset"};  // carried, not used

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::map<int, Uncertain> propagate(const Step& step, DType model, const ChainedInputs& inputs) {
  Propagation propagation{step, model, inputs, {}};
  CHECK(kPropagators[static_cast<std::size_t>(step.op)].op == step.op, "kPropagators is in the order of OpKind");
  kPropagators[static_cast<std::size_t>(step.op)].propagate(propagation);
  return std::move(propagation.outputs);
}

SlotRole slot_role(OpKind op, int operand) {
  const Slot& slot = slots(op)[static_cast<std::size_t>(operand)];
  if (is_among(kWeightSlots, slot.name)) return SlotRole::weight;
  if (is_among(kWeightScaleSlots, slot.name)) return SlotRole::weight_scales;
  return is_among(kOffsetSlots, slot.name) || slot.use == SlotUse::scratch ? SlotRole::unused : SlotRole::value;
}

int weight_scales_slot(OpKind op) {
  for (int i = 0; i < row(op).slot_count; ++i) {
    if (slot_role(op, i) == SlotRole::weight_scales) return i;
  }
  return -1;
}

}  // namespace moediff
