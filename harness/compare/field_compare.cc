// Equal in exact arithmetic means equal bytes here, whatever the order of summation: there is no bound.
#include "harness/compare/field_compare.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "harness/compare/assemble.h"
#include "harness/compare/elements.h"
#include "harness/compare/field_stage.h"
#include "harness/compare/quantise_stage.h"
#include "harness/compare/stage_diff.h"
#include "harness/core/hash.h"

namespace moediff {
namespace {

StageDiff compare_bytes(const Program& program, const Run& run, int step, int operand, DiffMode mode,
                        std::span<const std::byte> expected) {
  StageDiff diff = named_diff(program, step, operand, mode);
  const Operand& output = program.steps[step].operands[operand];
  const std::span<const std::byte> actual = captured(program, run, step, operand);
  if (actual.size() != expected.size()) {
    diff.not_comparable = "the output was not captured as a whole";
    return diff;
  }
  compare_bits(output.dtype, expected, actual, coordinates(program, run, step, operand), output.shape.size(), diff);
  return diff;
}

/// What the values of a Program are in exact arithmetic.
class FieldFlow {
 public:
  FieldFlow(const Program& program, Expected& expected) : program_(program), expected_(expected) {}

  /// None when the value does not follow from the inputs.
  const std::vector<std::byte>* value(int index) {
    if (const auto found = known_.find(index); found != known_.end()) return found->second ? &*found->second : nullptr;
    const auto [entry, fresh] = known_.emplace(index, find(index));
    return entry->second ? &*entry->second : nullptr;
  }

 private:
  using Bytes = std::optional<std::vector<std::byte>>;

  Bytes find(int index) {
    if (!program_.values[index].initial.empty()) {
      const auto bytes = initial_bytes(program_, expected_.inputs(), index);
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    const Origin from = origin(program_, index);
    if (from.step < 0) return std::nullopt;
    const Step& step = program_.steps[from.step];
    if (step.kind == StepKind::copy) return operand(step.operands[0]);
    return step.kind == StepKind::call ? computed(from) : std::nullopt;
  }

  Bytes operand(const Operand& wanted) {
    const std::optional<GatherPlan> plan = plan_gather(program_, wanted);
    if (!plan) return std::nullopt;
    std::vector<const std::vector<std::byte>*> sources;
    for (const int index : plan->values) {
      sources.push_back(value(index));
      if (sources.back() == nullptr) return std::nullopt;
    }
    if (plan->identity) return *sources[0];
    const auto width = static_cast<std::size_t>(size_of(wanted.dtype));
    std::vector<std::byte> packed(plan->elements.size() * width);
    for (std::size_t i = 0; i < plan->elements.size(); ++i) {
      const GatherPlan::Element& element = plan->elements[i];
      const auto from = static_cast<std::size_t>(element.index) * width;
      std::memcpy(packed.data() + i * width, sources[static_cast<std::size_t>(element.source)]->data() + from, width);
    }
    return packed;
  }

  Bytes computed(Origin from) {
    const Step& step = program_.steps[from.step];
    StageInputs inputs(step.operands.size());
    for (const int index : read_operands(step)) {
      if (slots(step.op)[index].use == SlotUse::scratch) continue;
      Bytes bytes = operand(step.operands[index]);
      if (!bytes) return std::nullopt;
      StageInput& input = inputs[index];
      input.present = true;
      input.dtype = step.operands[index].dtype;
      input.shape = step.operands[index].shape;
      input.key = "#" + to_hex(Hasher().add(std::span<const std::byte>(*bytes)).value());
      input.owned = std::move(*bytes);
    }
    const auto result = evaluate_field(step, inputs, expected_);
    const auto found = result->outputs.find(from.operand);
    return found == result->outputs.end() ? std::nullopt : Bytes(found->second);
  }

  const Program& program_;
  Expected& expected_;
  std::map<int, Bytes> known_;
};

/// Doubles with the bits of the elements: below 2^61, so that each is finite and differs from all others.
void append_bits(std::span<const std::byte> elements, std::vector<double>& out) {
  for (std::size_t at = 0; at + sizeof(double) <= elements.size(); at += sizeof(double)) {
    double bits = 0;
    std::memcpy(&bits, elements.data() + at, sizeof(bits));
    out.push_back(bits);
  }
}

}  // namespace

std::vector<StageDiff> compare_field_call(const Program& program, const Run& run, int step, DiffMode mode,
                                          const StageInputs& inputs, Expected& expected) {
  const Step& call = program.steps[step];
  const auto result = evaluate_field(call, inputs, expected);
  std::vector<StageDiff> diffs;
  if (!result->problem.empty()) {
    for (const int operand : write_operands(call)) {
      if (slots(call.op)[operand].use == SlotUse::scratch) continue;
      diffs.push_back(named_diff(program, step, operand, mode));
      diffs.back().not_comparable = result->problem;
    }
    return diffs;
  }
  for (const auto& [operand, bytes] : result->outputs) {
    const bool codes = is_quantisation(call.op) && operand == 1;
    const std::span<const std::byte> scales = codes ? captured(program, run, step, 2) : std::span<const std::byte>{};
    diffs.push_back(scales.empty()
                        ? compare_bytes(program, run, step, operand, mode, bytes)
                        : compare_bytes(program, run, step, operand, mode, field_codes(call, inputs, scales)));
  }
  return diffs;
}

void compare_field_chained(const Program& program, const Run& run, Expected& expected, Diff& diff) {
  FieldFlow flow(program, expected);
  std::int64_t compared = 0, different = 0;
  for (const int output : program.outputs) {
    const Origin from = origin(program, output);
    const std::vector<std::byte>* bytes = from.step < 0 ? nullptr : flow.value(output);
    if (bytes == nullptr) continue;
    StageDiff stage = compare_bytes(program, run, from.step, from.operand, DiffMode::chained, *bytes);
    if (stage.not_comparable.empty()) {
      compared += stage.compared;
      different += stage.beyond_hard;
      append_bits(*bytes, diff.output_expected);
      append_bits(captured(program, run, from.step, from.operand), diff.output_actual);
    }
    diff.stages.push_back(std::move(stage));
  }
  diff.output_bound.assign(diff.output_expected.size(), 0.0);
  diff.worst_chained = compared > 0 ? static_cast<double>(different) / static_cast<double>(compared) : 0;
}

}  // namespace moediff
