// What the run shows without any comparison.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/judge/rules.h"

namespace moediff {
namespace {

struct StatusRow {
  RunStatus status;
  Cause cause;
  std::string_view sentence;  ///< {0}: the step, {1}: detail
};
constexpr std::array<StatusRow, 4> kFailures{{
    {RunStatus::crash, Cause::crash, "The worker process died in {0}: {1}."},
    {RunStatus::hang, Cause::hang, "The run did not end: {1} (in {0})."},
    {RunStatus::out_of_bounds, Cause::out_of_bounds, "{0} touched memory that it was not given: {1}."},
    {RunStatus::provider_error, Cause::other, "The provider or its runtime failed in {0}: {1}."},
}};

Verdict failed(Cause cause, Blame blame, std::string explanation) {
  Verdict verdict;
  verdict.status = Status::fail;
  verdict.cause = cause;
  verdict.certain = true;
  verdict.blame = std::move(blame);
  verdict.explanation = std::move(explanation);
  return verdict;
}

/// The report of a damaged red zone opens with a step's name and closes with a buffer's.
Blame blame_of_red_zone(const CaseView& view, const std::string& hit) {
  int step = view.run.failing_step;
  for (std::size_t i = 0; step < 0 && i < view.program.steps.size(); ++i) {
    if (hit.rfind(view.program.steps[i].name + " ", 0) == 0) step = static_cast<int>(i);
  }
  Blame blame = view.blame(step);
  blame.writer = blame.op;
  for (const Buffer& buffer : view.program.buffers) {
    const std::string end = " " + buffer.name;
    const bool matches = hit.size() > end.size() && hit.compare(hit.size() - end.size(), end.size(), end) == 0;
    if (matches) blame.buffer = buffer.name;
  }
  return blame;
}

}  // namespace

std::optional<Verdict> judge_run(const CaseView& view) {
  const Run& run = view.run;
  const std::string step = run.failing_step < 0 ? "an unknown step" : view.op_on_stream(run.failing_step);
  for (const StatusRow& row : kFailures) {
    if (row.status != run.status) continue;
    return failed(row.cause, view.blame(run.failing_step), fmt::format(fmt::runtime(row.sentence), step, run.detail));
  }
  if (run.status == RunStatus::error) {
    Verdict verdict;
    verdict.status = Status::error;
    verdict.explanation = run.detail;
    return verdict;
  }
  if (run.red_zone_hits.empty()) return std::nullopt;
  const std::string& hit = run.red_zone_hits.front();
  const std::size_t more = run.red_zone_hits.size() - 1;
  return failed(Cause::out_of_bounds, blame_of_red_zone(view, hit),
                more == 0 ? hit + "." : fmt::format("{}; {} more red zones are damaged.", hit, more));
}

std::optional<Verdict> judge_repeats(const CaseView& view) {
  for (const StepAccesses& seen : view.run.accesses) {
    if (seen.repeated_bitwise || !seen.depends_on.empty()) continue;
    return failed(
        Cause::nondeterministic, view.blame(seen.step),
        fmt::format("{} gave other bits when it was repeated on the same inputs.", view.op_on_stream(seen.step)));
  }
  return std::nullopt;
}

}  // namespace moediff
