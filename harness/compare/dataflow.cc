// Recursion over producers with two memos: by value within this case, by content key within the group.
#include "harness/compare/dataflow.h"

#include <algorithm>

#include "harness/compare/expected_state.h"
#include "harness/compare/linear_layout.h"
#include "harness/compare/params_key.h"
#include "harness/compare/stage.h"
#include "harness/compare/stage_diff.h"
#include "harness/core/hash.h"

namespace moediff {
namespace {

std::uint64_t output_key(std::uint64_t call, int operand) {
  return Hasher().add(static_cast<std::int64_t>(call)).add(static_cast<std::int64_t>(operand)).value();
}

void add_number(Hasher& hasher, auto number) { hasher.add(static_cast<std::int64_t>(number)); }

}  // namespace

std::optional<Field> Dataflow::remembered(std::uint64_t key) const {
  const auto& memo = expected_.state().chained;
  const auto found = memo.find(key);
  return found == memo.end() ? std::nullopt : std::optional(Field{found->second, key});
}

Field Dataflow::remember(std::uint64_t key, bounds::Uncertain numbers) {
  auto shared = std::make_shared<const bounds::Uncertain>(std::move(numbers));
  make_room(expected_.state(), 3 * shared->size());
  expected_.state().chained.emplace(key, shared);
  return {std::move(shared), key};
}

std::optional<Field> Dataflow::value(int index) {
  if (const auto found = known_.find(index); found != known_.end()) return found->second;
  std::optional<Field> field = find(index);
  known_.emplace(index, field);
  return field;
}

std::optional<Field> Dataflow::find(int index) {
  if (!program_.values[index].initial.empty()) return initial(index);
  const Origin from = origin(program_, index);
  if (from.step < 0) return std::nullopt;
  const Step& step = program_.steps[from.step];
  if (step.kind == StepKind::copy) return operand(step.operands[0]);
  return step.kind == StepKind::call ? computed(from) : std::nullopt;
}

Field Dataflow::initial(int index) {
  const Value& value = program_.values[index];
  const std::span<const std::byte> bytes = initial_bytes(program_, expected_.inputs(), index);
  Hasher hasher;
  hasher.add(std::string_view(value.initial));
  for (const std::int64_t number : {std::int64_t{value.row_offset}, static_cast<std::int64_t>(bytes.size())})
    hasher.add(number);
  if (std::optional<Field> found = remembered(hasher.value())) return *found;
  return remember(hasher.value(), bounds::exact_values(to_doubles(value.dtype, bytes)));
}

std::optional<Field> Dataflow::operand(const Operand& wanted) {
  const std::optional<GatherPlan> plan = plan_gather(program_, wanted);
  if (!plan) return std::nullopt;
  std::vector<Field> sources;
  Hasher hasher;
  for (const int index : plan->values) {
    const std::optional<Field> source = value(index);
    if (!source) return std::nullopt;
    sources.push_back(*source);
    add_number(hasher, source->key);
  }
  if (plan->identity) return sources[0];
  for (const GatherPlan::Element& element : plan->elements) {
    add_number(hasher, element.source);
    hasher.add(element.index);
  }
  if (std::optional<Field> found = remembered(hasher.value())) return found;
  bounds::Uncertain picked;
  for (const Field& source : sources) picked.flippable += source.numbers->flippable;
  for (const GatherPlan::Element& element : plan->elements) {
    const bounds::Uncertain& from = *sources[element.source].numbers;
    picked.value.push_back(from.value[element.index]);
    picked.squares.push_back(from.squares[element.index]);
    picked.hard.push_back(from.hard[element.index]);
  }
  return remember(hasher.value(), std::move(picked));
}

std::optional<std::vector<std::int32_t>> Dataflow::followed_choice(int step) const {
  const auto found = legitimate_.find(step);
  if (found == legitimate_.end() || !found->second) return std::nullopt;
  const std::vector<double> ids =
      to_doubles(DType::i32, captured(program_, run_, step, slot_index(OpKind::router, "topk_ids")));
  return std::vector<std::int32_t>(ids.begin(), ids.end());
}

WeightSet* Dataflow::weight(int step, int index, Hasher& hasher) {
  const Step& made = program_.steps[step];
  const auto input = [&](int operand) { return meant_input(program_, run_, expected_.inputs(), step, operand); };
  const int scales_slot = weight_scales_slot(made.op);
  const bool scaled = scales_slot >= 0 && made.operands[scales_slot].buffer >= 0;
  const std::optional<StageInput> codes = input(index), scales = scaled ? input(scales_slot) : StageInput{};
  if (!codes || !scales) return nullptr;
  hasher.add(std::string_view(codes->key)).add(std::string_view(scales->key));
  const std::int64_t k = made.operands[slot_index(made.op, linear_slots(made.op).x)].shape[1];
  return &prepared(expected_.state(), *codes, *scales, {product_quant(made), made.params.halves, program_.dtype, k});
}

std::optional<Dataflow::Call> Dataflow::gather(int step) {
  const Step& made = program_.steps[step];
  Call call;
  call.inputs.numbers.resize(made.operands.size());
  call.inputs.weights.resize(made.operands.size());
  Hasher hasher;
  add_call(hasher, made);
  add_number(hasher, program_.dtype);
  for (const int index : read_operands(made)) {
    const SlotRole role = slot_role(made.op, index);
    if (role == SlotRole::weight) {
      call.inputs.weights[index] = weight(step, index, hasher);
      if (call.inputs.weights[index] == nullptr) return std::nullopt;
    }
    if (role != SlotRole::value) continue;
    const std::optional<Field> field = operand(made.operands[index]);
    if (!field) return std::nullopt;
    call.inputs.numbers[index] = field->numbers;
    add_number(hasher, index);
    add_number(hasher, field->key);
  }
  if (made.op == OpKind::router) call.inputs.candidate_ids = followed_choice(step);
  for (const std::int32_t id : call.inputs.candidate_ids.value_or(std::vector<std::int32_t>{})) add_number(hasher, id);
  call.key = hasher.value();
  return call;
}

std::optional<Field> Dataflow::computed(Origin from) {
  const std::optional<Call> call = gather(from.step);
  if (!call) return std::nullopt;
  if (std::optional<Field> found = remembered(output_key(call->key, from.operand))) return found;
  std::optional<Field> wanted;
  for (auto& [operand, numbers] : propagate(program_.steps[from.step], program_.dtype, call->inputs)) {
    const Field field = remember(output_key(call->key, operand), std::move(numbers));
    if (operand == from.operand) wanted = field;
  }
  return wanted;
}

}  // namespace moediff
