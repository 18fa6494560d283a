// Running a small layer through the comparator, and finding things in its diff.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "harness/compare/compare.h"
#include "tests/unit/compare/program_helper.h"

namespace moediff::test {

struct Compared {
  Program program;
  Diff diff;
};

inline Compared compare_layer(const LayerOptions& options, const Fault& fault = {}) {
  Compared result{build_layer(options), {}};
  const auto inputs = make_layer_inputs(result.program, options);
  Expected expected(inputs);
  result.diff = compare(result.program, execute(result.program, *inputs, fault), expected);
  return result;
}

inline std::vector<std::string> failed_stages(const Diff& diff, DiffMode mode) {
  std::vector<std::string> names;
  for (const StageDiff& stage : diff.stages) {
    if (stage.mode == mode && stage.failed()) names.push_back(stage.stage + "/" + stage.value);
  }
  return names;
}

inline StageDiff stage_of(const Diff& diff, const std::string& value, DiffMode mode = DiffMode::local) {
  for (const StageDiff& stage : diff.stages) {
    if (stage.value == value && stage.mode == mode) return stage;
  }
  throw std::runtime_error("no such stage: " + value);
}

/// A fault that changes the elements of one output of the op.
inline Fault on_output(OpKind op, std::size_t operand, std::function<void(Memory&, const Operand&)> change) {
  return [=](const Step& step, Memory& memory) {
    if (step.kind == StepKind::call && step.op == op) change(memory, step.operands[operand]);
  };
}

inline LayerOptions with(std::function<void(LayerOptions&)> change) {
  LayerOptions options;
  change(options);
  return options;
}

}  // namespace moediff::test
