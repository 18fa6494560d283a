// Where a stage's inputs come from: what the step meant, or what it found.
#include <algorithm>

#include "harness/compare/assemble.h"
#include "harness/compare/stage.h"
#include "harness/core/check.h"
#include "harness/core/hash.h"

namespace moediff {
namespace {

/// Read operands that are no scratch.
std::vector<int> true_reads(const Step& step) {
  std::vector<int> reads = read_operands(step);
  if (step.kind != StepKind::call) return reads;
  std::erase_if(reads, [&](int operand) { return slots(step.op)[operand].use == SlotUse::scratch; });
  return reads;
}

StageInput described(const Operand& operand) {
  StageInput input;
  input.present = true;
  input.dtype = operand.dtype;
  input.shape = operand.shape;
  return input;
}

std::string content_key(std::span<const std::byte> bytes) { return "#" + to_hex(Hasher().add(bytes).value()); }

/// The value that the operand is as a whole and that Inputs holds: its bytes need not be copied nor hashed.
int whole_input(const Program& program, const Operand& operand, const Inputs& inputs) {
  if (!is_whole_value(program, operand)) return -1;
  const Value& value = program.values[operand.values[0]];
  const auto found = inputs.find(value.initial);
  const bool whole =
      found != inputs.end() && static_cast<std::int64_t>(found->second.data.size()) == value.region.bytes();
  return whole ? operand.values[0] : -1;
}

void borrow(StageInput& input, const Program& program, const Inputs& inputs, int value) {
  input.borrowed = initial_bytes(program, inputs, value);
  input.key = program.values[value].initial;
}

void own(StageInput& input, std::vector<std::byte> bytes) {
  input.owned = std::move(bytes);
  input.key = content_key(input.owned);
}

}  // namespace

std::optional<StageInput> meant_input(const Program& program, const Run& run, const Inputs& inputs, int step,
                                      int index) {
  const Operand& operand = program.steps[step].operands[index];
  StageInput input = described(operand);
  if (const int value = whole_input(program, operand, inputs); value >= 0) {
    borrow(input, program, inputs, value);
    return input;
  }
  auto bytes = assemble(program, run, inputs, step, index);
  if (!bytes) return std::nullopt;
  own(input, std::move(*bytes));
  return input;
}

std::optional<StageInputs> meant_inputs(const Program& program, const Run& run, const Inputs& inputs, int step) {
  StageInputs all(program.steps[step].operands.size());
  for (const int index : true_reads(program.steps[step])) {
    std::optional<StageInput> input = meant_input(program, run, inputs, step, index);
    if (!input) return std::nullopt;
    all[index] = std::move(*input);
  }
  return all;
}

std::optional<StageInputs> inputs_as_read(const Program& program, const Run& run, const Inputs& inputs, int step) {
  const Step& call = program.steps[step];
  StageInputs all(call.operands.size());
  if (step >= static_cast<int>(run.capture.operands.size())) return std::nullopt;
  if (run.capture.operands[step].size() != call.operands.size()) return std::nullopt;
  for (const int index : true_reads(call)) {
    const Operand& operand = call.operands[index];
    all[index] = described(operand);
    const std::vector<std::byte>& found = run.capture.operands[step][index];
    const int value = whole_input(program, operand, inputs);
    // Weights are captured once or not at all; what equals the input is the input.
    if (value >= 0 && (found.empty() || std::ranges::equal(found, initial_bytes(program, inputs, value)))) {
      borrow(all[index], program, inputs, value);
      continue;
    }
    if (static_cast<std::int64_t>(found.size()) != operand.region.bytes()) return std::nullopt;
    own(all[index], found);
  }
  return all;
}

}  // namespace moediff
