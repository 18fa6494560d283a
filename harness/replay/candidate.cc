#include "harness/replay/candidate.h"

#include <algorithm>

#include "harness/compare/compare.h"
#include "harness/compare/outputs.h"
#include "harness/core/text.h"
#include "harness/program/build.h"

namespace moediff {
namespace {

/// The run itself: whatever keeps it from its end is a failed check.
Check ran(const Run& run, const std::string& who) {
  Check check;
  check.name = "candidate " + who + ": run";
  check.compared = 1;
  check.measured = run.status == RunStatus::ok ? 0 : 1;
  check.rule = "runs that do not end well";
  check.pass = run.status == RunStatus::ok;
  check.note = run.detail;
  return check;
}

/// Every stage against the reference's from the candidate's own inputs to it, and the output end to end.
Check compared_stages(const Diff& diff, const std::string& who) {
  Check check;
  check.name = "candidate " + who + ": stages";
  check.limit = 1;
  check.rule = "largest share of a stage's derived error bound";
  const StageDiff* worst = nullptr;
  bool failed = false;
  for (const StageDiff& stage : diff.stages) {
    check.compared += stage.compared;
    const bool replaces = worst == nullptr || (stage.failed() && !worst->failed()) ||
                          (stage.failed() == worst->failed() && stage.budget_used > worst->budget_used);
    if (replaces) worst = &stage;
    failed = failed || stage.failed();
  }
  if (worst == nullptr) return check;
  check.measured = worst->budget_used;
  check.pass = check.compared > 0 && !failed;
  check.note = "worst in " + worst->stage + " (" + worst->value + ", " + std::string(to_string(worst->mode)) + ")";
  return check;
}

}  // namespace

CandidateRun run_candidate(LayerJob job, const std::string& who, const CandidateOptions& options) {
  CandidateRun out;
  out.program = build_moe_layer(job.spec);
  validate(out.program);
  const auto inputs = std::make_shared<const Inputs>(std::move(job.inputs));
  RunRequest request;
  request.program = &out.program;
  request.inputs = inputs;
  request.provider = options.provider;
  request.timeout_seconds = options.timeout_seconds;
  out.run = options.executor->run(request);
  out.checks.push_back(ran(out.run, who));
  if (out.run.status != RunStatus::ok) return out;
  Expected expected(inputs);
  out.checks.push_back(compared_stages(compare(out.program, out.run, expected), who));
  return out;
}

std::optional<std::vector<double>> stored(const CandidateRun& candidate, std::string_view value) {
  const auto& operands = candidate.run.capture.operands;
  for (std::size_t s = 0; s < candidate.program.steps.size() && s < operands.size(); ++s) {
    const Step& step = candidate.program.steps[s];
    for (const int o : write_operands(step)) {
      const Operand& operand = step.operands[static_cast<std::size_t>(o)];
      const bool named = std::any_of(operand.values.begin(), operand.values.end(), [&](int v) {
        return candidate.program.values[static_cast<std::size_t>(v)].name == value;
      });
      const auto index = static_cast<std::size_t>(o);
      if (named && index < operands[s].size() && !operands[s][index].empty())
        return to_doubles(operand.dtype, operands[s][index]);
    }
  }
  return std::nullopt;
}

std::optional<std::vector<double>> result_of(const CandidateRun& candidate) {
  std::vector<double> outputs = outputs_of(candidate.program, candidate.run);
  if (outputs.empty()) return std::nullopt;
  return outputs;
}

}  // namespace moediff
