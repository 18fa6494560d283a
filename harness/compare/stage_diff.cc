// Naming of diffs, captured bytes, and the plain element-wise comparison of one output.
#include "harness/compare/stage_diff.h"

#include "harness/compare/elements.h"

namespace moediff {

StageDiff named_diff(const Program& program, int step, int operand, DiffMode mode) {
  const Step& made = program.steps[step];
  const Operand& output = made.operands[operand];
  StageDiff diff;
  diff.step = step;
  diff.stage = made.kind == StepKind::copy ? "copy" : std::string(to_string(made.op));
  const bool meant = !output.values.empty();
  if (meant) diff.value = program.values[output.values[0]].name;
  diff.chunk = meant && made.chunk < 0 ? program.values[output.values[0]].chunk : made.chunk;
  diff.mode = mode;
  return diff;
}

std::span<const std::byte> captured(const Program& program, const Run& run, int step, int operand) {
  if (step >= static_cast<int>(run.capture.operands.size())) return {};
  const auto& operands = run.capture.operands[step];
  if (operand >= static_cast<int>(operands.size())) return {};
  const Operand& wanted = program.steps[step].operands[operand];
  const std::int64_t bytes = count(wanted.shape) * size_of(wanted.dtype);
  if (static_cast<std::int64_t>(operands[operand].size()) != bytes) return {};
  return operands[operand];
}

StageDiff compare_output(const Program& program, const Run& run, int step, int operand, DiffMode mode,
                         const bounds::Acceptance& expected) {
  StageDiff diff = named_diff(program, step, operand, mode);
  const Operand& output = program.steps[step].operands[operand];
  const std::vector<double> actual = to_doubles(output.dtype, captured(program, run, step, operand));
  if (actual.size() != expected.value.size()) {
    diff.not_comparable = "the output was not captured as a whole";
    return diff;
  }
  compare_elements(expected, actual, coordinates(program, run, step, operand), output.shape.size(), diff);
  return diff;
}

}  // namespace moediff
