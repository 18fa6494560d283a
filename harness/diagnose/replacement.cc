#include "harness/diagnose/replacement.h"

#include "harness/compare/expected_outputs.h"
#include "harness/program/rewrite.h"

namespace moediff {
namespace {

// Names no checkpoint uses: they only live in this experiment's inputs.
std::string input_name(const Step& call, int operand) {
  return "expected:" + call.name + ":" + std::to_string(operand);
}

}  // namespace

std::optional<Replacement> replace_by_expected(const Program& program, const Run& run, int step, Expected& expected) {
  if (step < 0 || program.steps[static_cast<std::size_t>(step)].kind != StepKind::call) return std::nullopt;
  const OpKind op = program.steps[static_cast<std::size_t>(step)].op;
  Replacement replacement;
  replacement.program = program;
  Inputs inputs = expected.inputs();
  for (const int call : find_calls(program, op)) {
    const Step& original = program.steps[static_cast<std::size_t>(call)];
    std::map<int, std::string> given;
    for (auto& [operand, tensor] : expected_outputs(program, run, call, expected)) {
      given[operand] = input_name(original, operand);
      inputs[given[operand]] = std::move(tensor);
    }
    // Earlier replacements may have inserted copies, so the call is found again by its name.
    std::optional<Program> changed =
        with_outputs_given(replacement.program, find_step(replacement.program, original.name), given);
    if (!changed) return std::nullopt;
    replacement.program = std::move(*changed);
  }
  replacement.name = "put the expected result in the place of " + std::string(to_string(op)) + "'s";
  replacement.inputs = std::make_shared<const Inputs>(std::move(inputs));
  return replacement;
}

}  // namespace moediff
