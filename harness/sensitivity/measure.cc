// A healthy run of the case, a defective one of the same ops, and the same comparison for both.
#include "harness/sensitivity/measure.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "harness/compare/compare.h"
#include "harness/core/check.h"
#include "harness/core/formats.h"
#include "harness/program/build.h"
#include "harness/program/rewrite.h"
#include "harness/sensitivity/rivals.h"

namespace moediff {
namespace {

/// What both runs share.
struct Bench {
  const Defect& defect;
  Case spec;
  Program program;
  std::shared_ptr<const Inputs> inputs;
  Executor& executor;

  Run run(const Program& made, std::shared_ptr<const Inputs> from) const {
    RunRequest request;
    request.program = &made;
    request.inputs = std::move(from);
    return executor.run(request);
  }
};

/// Brings a run of a rewritten Program into the shape of the original one: step for step by name.
Run aligned(const Program& original, const Program& rewritten, Run run) {
  Capture capture;
  capture.operands.resize(original.steps.size());
  for (std::size_t i = 0; i < original.steps.size(); ++i) {
    const int from = find_step(rewritten, original.steps[i].name);
    if (from >= 0) capture.operands[i] = std::move(run.capture.operands[static_cast<std::size_t>(from)]);
  }
  run.capture = std::move(capture);
  return run;
}

int edited_step(const Bench& bench) {
  const int step = find_step(bench.program, bench.defect.stage);
  CHECK(step >= 0, "an edited stage is a step of the Program");
  return step;
}

Tensor captured_tensor(const Bench& bench, const Run& run, int step, int operand) {
  const Operand& written =
      bench.program.steps[static_cast<std::size_t>(step)].operands[static_cast<std::size_t>(operand)];
  Tensor tensor(written.dtype, written.shape);
  tensor.data = run.capture.operands[static_cast<std::size_t>(step)][static_cast<std::size_t>(operand)];
  return tensor;
}

/// The op's results as it stored them, one of them edited, are put in its place; everything after it runs again.
Run edited_run(const Bench& bench, const Run& healthy) {
  const int step = edited_step(bench);
  const Step& call = bench.program.steps[static_cast<std::size_t>(step)];
  const int target = slot_index(call.op, bench.defect.edited);
  CHECK(target >= 0, "an edited slot belongs to its op");
  Inputs inputs = *bench.inputs;
  std::map<int, std::string> given;
  for (const int operand : write_operands(call)) {
    if (call.operands[static_cast<std::size_t>(operand)].buffer < 0) continue;
    Tensor tensor = captured_tensor(bench, healthy, step, operand);
    if (operand == target) {
      bench.defect.edit({bench.spec, bench.program, *bench.inputs, healthy, step}, tensor);
    }
    given[operand] = "edited:" + std::to_string(operand);
    inputs[given[operand]] = std::move(tensor);
  }
  const std::optional<Program> rewritten = with_outputs_given(bench.program, step, given);
  CHECK(rewritten, "the edited op has no scratch");
  Run run = aligned(bench.program, *rewritten, bench.run(*rewritten, std::make_shared<const Inputs>(inputs)));
  auto& operands = run.capture.operands[static_cast<std::size_t>(step)];
  operands = healthy.capture.operands[static_cast<std::size_t>(step)];
  for (const auto& [operand, name] : given) operands[static_cast<std::size_t>(operand)] = inputs.at(name).data;
  return run;
}

Run defective_run(const Bench& bench, const Run& healthy) {
  if (bench.defect.edit != nullptr) return edited_run(bench, healthy);
  if (bench.defect.alter_inputs != nullptr) {
    Inputs inputs = *bench.inputs;
    bench.defect.alter_inputs(bench.spec, inputs);
    return bench.run(bench.program, std::make_shared<const Inputs>(std::move(inputs)));
  }
  Program program = bench.program;
  if (bench.defect.alter_case != nullptr) {
    Case other = bench.spec;
    bench.defect.alter_case(other);
    program = build_moe_layer(other);
  } else {
    bench.defect.alter_program(program);
  }
  return aligned(bench.program, program, bench.run(program, bench.inputs));
}

bool rejects(const Diff& diff) {
  return std::any_of(diff.stages.begin(), diff.stages.end(), [](const StageDiff& stage) { return stage.failed(); });
}

/// Elements written by any step that are not what the healthy run wrote.
std::int64_t count_changed(const Program& program, const Run& a, const Run& b) {
  std::int64_t changed = 0;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (step.kind != StepKind::call) continue;
    for (const int index : write_operands(step)) {
      const auto operand = static_cast<std::size_t>(index);
      if (slots(step.op)[operand].use == SlotUse::scratch || step.operands[operand].buffer < 0) continue;
      const auto &left = a.capture.operands[s][operand], &right = b.capture.operands[s][operand];
      const auto width = static_cast<std::size_t>(size_of(step.operands[operand].dtype));
      for (std::size_t i = 0; i + width <= std::min(left.size(), right.size()); i += width)
        changed += std::memcmp(left.data() + i, right.data() + i, width) != 0 ? 1 : 0;
    }
  }
  return changed;
}

void ask_ours(const Diff& diff, Measured& measured) {
  measured.caught = rejects(diff);
  for (const StageDiff& stage : diff.stages) {
    if (!stage.failed()) continue;
    measured.certain = measured.certain || stage.beyond_hard > 0;
    if (!measured.where.empty()) continue;
    measured.where = stage.value;
    measured.budget_used = stage.budget_used;
  }
}

/// The expected output as a kernel could at best store it.
std::vector<double> stored(DType dtype, std::span<const double> values) {
  std::vector<double> rounded(values.begin(), values.end());
  for (double& value : rounded) value = round_to(dtype, value);
  return rounded;
}

}  // namespace

bool Measured::as_expected() const { return problem.empty() && control_passes && caught == defect->invisible.empty(); }

Measured measure(const Defect& defect, Executor& executor) {
  Measured measured;
  measured.defect = &defect;
  const Case spec = healthy_case(defect);
  const Bench bench{defect, spec, build_moe_layer(spec), std::make_shared<const Inputs>(make_inputs(spec).tensors),
                    executor};
  const Run healthy = bench.run(bench.program, bench.inputs);
  if (healthy.status != RunStatus::ok) {
    measured.problem = "the healthy candidate did not run: " + healthy.detail;
    return measured;
  }
  Expected expected(bench.inputs);
  const Diff control = compare(bench.program, healthy, expected);
  measured.control_passes = !rejects(control);
  const Run defective = defective_run(bench, healthy);
  if (defective.status != RunStatus::ok) {
    measured.problem = "the defective candidate did not run: " + defective.detail;
    return measured;
  }
  const Diff diff = compare(bench.program, defective, expected);
  ask_ours(diff, measured);
  measured.changed = count_changed(bench.program, healthy, defective);
  const std::vector<double> ideal = stored(spec.dtype, control.output_expected);
  for (const Rival& rival : rivals()) {
    measured.rivals.push_back(!rival.accepts(ideal, diff.output_actual));
    measured.rivals_cry_wolf.push_back(!rival.accepts(ideal, control.output_actual));
  }
  return measured;
}

}  // namespace moediff
