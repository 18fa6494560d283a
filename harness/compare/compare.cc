// Expected x Run -> Diff: every copy and call locally; what fails there again from the bytes it really read; the
// outputs chained, end to end. In algebra mode the same, byte for byte.
#include "harness/compare/compare.h"

#include <algorithm>
#include <map>

#include "harness/compare/chained.h"
#include "harness/compare/elements.h"
#include "harness/compare/field_compare.h"
#include "harness/compare/quantise_stage.h"
#include "harness/compare/router_stage.h"
#include "harness/compare/stage.h"
#include "harness/compare/stage_diff.h"
#include "harness/core/check.h"

namespace moediff {
namespace {

std::vector<int> results_of(const Step& step) {
  std::vector<int> outputs = write_operands(step);
  std::erase_if(outputs, [&](int operand) { return slots(step.op)[operand].use == SlotUse::scratch; });
  return outputs;
}

std::vector<StageDiff> nothing_compared(const Program& program, int step, DiffMode mode, const std::string& why) {
  std::vector<StageDiff> diffs;
  for (const int operand : results_of(program.steps[step])) {
    diffs.push_back(named_diff(program, step, operand, mode));
    diffs.back().not_comparable = why;
  }
  return diffs;
}

std::vector<StageDiff> compare_call(const Program& program, const Run& run, int step, DiffMode mode,
                                    const std::optional<StageInputs>& inputs, Expected& expected) {
  if (!inputs) return nothing_compared(program, step, mode, "an input was not captured as a whole");
  const Step& call = program.steps[step];
  if (program.dtype == DType::field) return compare_field_call(program, run, step, mode, *inputs, expected);
  const std::shared_ptr<const StageResult> result = evaluate(call, program.dtype, *inputs, expected);
  if (!result->problem.empty()) return nothing_compared(program, step, mode, result->problem);
  if (call.op == OpKind::router) return compare_router(program, run, step, mode, *inputs, *result);
  if (is_quantisation(call.op)) return compare_quantisation(program, run, step, mode, *result);
  std::vector<StageDiff> diffs;
  for (const int operand : results_of(call)) {
    diffs.push_back(compare_output(program, run, step, operand, mode, result->outputs[operand]));
  }
  return diffs;
}

/// A copy that means no value (it keeps bytes aside) is nobody's result.
std::vector<StageDiff> compare_copy(const Program& program, const Run& run, int step, DiffMode mode,
                                    const std::optional<StageInputs>& inputs) {
  const Operand &source = program.steps[step].operands[0], &destination = program.steps[step].operands[1];
  if (source.values.empty() || destination.values.empty()) return {};
  StageDiff diff = named_diff(program, step, 1, mode);
  const std::span<const std::byte> actual = captured(program, run, step, 1);
  if (!inputs || inputs->front().bytes().size() != actual.size()) {
    diff.not_comparable = "the copy was not captured as a whole";
  } else {
    compare_bits(destination.dtype, inputs->front().bytes(), actual, coordinates(program, run, step, 1),
                 destination.shape.size(), diff);
  }
  return {diff};
}

std::vector<StageDiff> compare_step(const Program& program, const Run& run, int step, DiffMode mode,
                                    Expected& expected) {
  const auto gather = mode == DiffMode::local ? meant_inputs : inputs_as_read;
  const std::optional<StageInputs> inputs = gather(program, run, expected.inputs(), step);
  if (program.steps[step].kind == StepKind::copy) return compare_copy(program, run, step, mode, inputs);
  return compare_call(program, run, step, mode, inputs, expected);
}

bool any_failed(const std::vector<StageDiff>& diffs) {
  return std::any_of(diffs.begin(), diffs.end(), [](const StageDiff& diff) { return diff.failed(); });
}

/// Keeps the as_read diffs that say something: a stage that cannot be recomputed from what was read proves nothing.
void append_comparable(std::vector<StageDiff>& all, std::vector<StageDiff> diffs) {
  std::erase_if(diffs, [](const StageDiff& diff) { return !diff.not_comparable.empty(); });
  all.insert(all.end(), diffs.begin(), diffs.end());
}

}  // namespace

Diff compare(const Program& program, const Run& run, Expected& expected) {
  CHECK(run.status == RunStatus::ok, "only a run that ended well can be compared");
  Diff diff;
  std::map<int, bool> legitimate;  // by router step
  for (int step = 0; step < static_cast<int>(program.steps.size()); ++step) {
    const Step& made = program.steps[step];
    if (made.kind != StepKind::call && made.kind != StepKind::copy) continue;
    const std::vector<StageDiff> local = compare_step(program, run, step, DiffMode::local, expected);
    diff.stages.insert(diff.stages.end(), local.begin(), local.end());
    if (made.kind == StepKind::call && made.op == OpKind::router) legitimate[step] = routing_is_legitimate(local);
    if (any_failed(local))
      append_comparable(diff.stages, compare_step(program, run, step, DiffMode::as_read, expected));
  }
  if (program.dtype == DType::field) {
    compare_field_chained(program, run, expected, diff);
  } else {
    compare_chained(program, run, expected, legitimate, diff);
  }
  return diff;
}

}  // namespace moediff
