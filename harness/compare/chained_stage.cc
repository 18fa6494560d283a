// The ops of an MoE layer over numbers with errors: one row an op in kPropagators.
#include "harness/compare/chained_stage.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "harness/compare/stage.h"
#include "harness/core/check.h"

namespace moediff {
namespace {

using bounds::Uncertain;

constexpr std::array<std::string_view, 5> kWeightSlots{"gate_weight", "w13", "w2", "shared_w13", "shared_w2"};

struct Propagation {
  const Step& step;
  const ChainedInputs& inputs;
  std::map<int, Uncertain> outputs;

  int at(std::string_view slot) const { return slot_index(step.op, slot); }
  const Operand& operand(std::string_view slot) const { return step.operands[at(slot)]; }
  const Uncertain& input(std::string_view slot) const { return *inputs.numbers[at(slot)]; }
  WeightSet& weight(std::string_view slot) const { return *inputs.weights[at(slot)]; }
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
  std::vector<std::int32_t> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Uncertain dense(const Propagation& p, std::string_view x, std::string_view weight) {
  const PreparedMatrix& matrix = p.weight(weight).expert(0);
  const std::array<bounds::LinearPart, 1> part{{{&matrix.matrix, matrix.grid, identity_rows(p.operand(x).shape[0])}}};
  return bounds::linear(p.input(x), part, {p.step.params.split_k});
}

Uncertain grouped(const Propagation& p, std::string_view x, std::span<const std::int32_t> source,
                  std::string_view weight) {
  const std::vector<std::int32_t> offsets = p.integers("expert_offsets");
  std::vector<bounds::LinearPart> parts;
  for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
    if (offsets[e] == offsets[e + 1]) continue;
    const PreparedMatrix& matrix = p.weight(weight).expert(static_cast<std::int64_t>(e));
    parts.push_back({&matrix.matrix, matrix.grid, {source.begin() + offsets[e], source.begin() + offsets[e + 1]}});
  }
  return bounds::linear(p.input(x), parts, {p.step.params.split_k});
}

void propagate_router(Propagation& p) {
  Uncertain logits = dense(p, "hidden_states", "gate_weight");
  const std::int64_t tokens = p.operand("router_logits").shape[0];
  const reference::RouterConfig config = router_config(p.step, p.operand("router_logits").shape[1]);
  const std::vector<std::int32_t> ids =
      p.inputs.candidate_ids ? *p.inputs.candidate_ids
                             : reference::route(logits.value, p.input("gate_bias").value, tokens, config).ids;
  p.output("topk_ids", exact_integers(ids));
  p.output("topk_weights", bounds::routing_weights(logits, ids, tokens, config));
  p.output("router_logits", std::move(logits));
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
  std::vector<std::int32_t> source = p.integers("sorted_slots");
  const std::int64_t tokens = p.operand("hidden_states").shape[0];
  const std::int64_t width = tokens == 0 ? 1 : static_cast<std::int64_t>(source.size()) / tokens;
  for (std::int32_t& slot : source) slot = static_cast<std::int32_t>(slot / width);
  p.stored_output("gemm1_out", grouped(p, "hidden_states", source, "w13"));
}

void propagate_gemm2(Propagation& p) {
  p.stored_output("gemm2_out", grouped(p, "act_out", identity_rows(p.operand("act_out").shape[0]), "w2"));
}

void propagate_silu(Propagation& p, std::string_view in, std::string_view out) {
  const Shape& shape = p.operand(in).shape;
  p.output(out, bounds::silu_and_mul(p.input(in), shape[0], shape[1] / 2, p.operand(out).dtype));
}
void propagate_activation(Propagation& p) { propagate_silu(p, "gemm1_out", "act_out"); }
void propagate_shared_activation(Propagation& p) { propagate_silu(p, "shared_gemm1_out", "shared_act_out"); }

void propagate_combine(Propagation& p) {
  const Shape &weights = p.operand("topk_weights").shape, &x = p.operand("gemm2_out").shape;
  p.stored_output("routed_out", bounds::combine(p.input("gemm2_out"), p.integers("slot_rows"), p.input("topk_weights"),
                                                weights[0], weights[1], x[1]));
}

void propagate_shared_gemm1(Propagation& p) {
  p.stored_output("shared_gemm1_out", dense(p, "hidden_states", "shared_w13"));
}
void propagate_shared_gemm2(Propagation& p) { p.stored_output("shared_out", dense(p, "shared_act_out", "shared_w2")); }

void propagate_scale_add(Propagation& p) {
  const Uncertain* shared = p.inputs.numbers[p.at("shared_out")].get();
  p.output("moe_out", bounds::scale_add(p.input("routed_out"), shared, static_cast<float>(p.step.params.factor),
                                        p.operand("moe_out").dtype));
}

void propagate_residual_add(Propagation& p) {
  p.output("layer_out", bounds::add(p.input("moe_out"), p.input("hidden_states"), p.operand("layer_out").dtype));
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
    {OpKind::shared_gemm1, propagate_shared_gemm1},
    {OpKind::shared_activation, propagate_shared_activation},
    {OpKind::shared_gemm2, propagate_shared_gemm2},
    {OpKind::scale_add, propagate_scale_add},
    {OpKind::residual_add, propagate_residual_add},
}};

}  // namespace

std::map<int, Uncertain> propagate(const Step& step, const ChainedInputs& inputs) {
  Propagation propagation{step, inputs, {}};
  CHECK(kPropagators[static_cast<std::size_t>(step.op)].op == step.op, "kPropagators is in the order of OpKind");
  kPropagators[static_cast<std::size_t>(step.op)].propagate(propagation);
  return std::move(propagation.outputs);
}

bool is_weight_slot(OpKind op, int operand) {
  const std::string_view name = slots(op)[static_cast<std::size_t>(operand)].name;
  return std::find(kWeightSlots.begin(), kWeightSlots.end(), name) != kWeightSlots.end();
}

}  // namespace moediff
