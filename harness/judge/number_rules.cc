// Numbers decide only where structure is silent: the first stage that fails on its own inputs, in issue order.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/core/text.h"
#include "harness/judge/rules.h"

namespace moediff {
namespace {

/// Within one step a wrong choice of experts explains more than a NaN, and a NaN more than an error.
int severity(const StageDiff& stage) { return stage.routing_wrong ? 0 : stage.not_finite > 0 ? 1 : 2; }

const StageDiff* first_failure(const Diff& diff, DiffMode mode) {
  const StageDiff* first = nullptr;
  for (const StageDiff& stage : diff.stages) {
    if (stage.mode != mode || !stage.failed()) continue;
    if (first == nullptr || std::pair(stage.step, severity(stage)) < std::pair(first->step, severity(*first))) {
      first = &stage;
    }
  }
  return first;
}

/// " at token 3, expert 5, column 17", whatever applies.
std::string place_of(const Mismatch& mismatch) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view name, std::int64_t index) {
    if (index >= 0) parts.push_back(fmt::format("{} {}", name, index));
  };
  add("token", mismatch.token);
  add("slot", mismatch.slot);
  add("expert", mismatch.expert);
  add("column", mismatch.column);
  return parts.empty() ? "" : " at " + join(parts, ", ");
}

std::string worst_of(const StageDiff& stage) {
  if (!stage.worst) return "";
  const Mismatch& worst = *stage.worst;
  return fmt::format(", worst {} instead of {} (bound {}){}", short_number(worst.actual, 6),
                     short_number(worst.expected, 6), short_number(worst.bound), place_of(worst));
}

std::string extent_of(const StageDiff& stage) {
  if (stage.not_finite > 0) return fmt::format("{} of {} values are not finite", stage.not_finite, stage.compared);
  return fmt::format("{} of {} values are beyond their bound{}, {} of max|expected|", stage.beyond_statistical,
                     stage.compared, worst_of(stage), short_number(stage.max_rel));
}

Verdict failed(const CaseView& view, const StageDiff& stage, Cause cause, std::string explanation) {
  Verdict verdict;
  verdict.status = Status::fail;
  verdict.cause = cause;
  verdict.certain = stage.beyond_hard > 0 || stage.not_finite > 0;
  verdict.blame = view.blame(stage.step);
  verdict.blame.value = stage.value;
  for (const Value& value : view.program.values) {
    if (value.name == stage.value && value.chunk == stage.chunk) {
      verdict.blame.buffer = view.program.buffers[value.buffer].name;
    }
  }
  verdict.explanation = std::move(explanation);
  return verdict;
}

Verdict judge_stage(const CaseView& view, const StageDiff& stage) {
  const std::string op = view.op_on_stream(stage.step);
  if (stage.routing_wrong) {
    return failed(view, stage, Cause::wrong_routing,
                  fmt::format("{} chose experts that no rounding of the scores explains{}.", op,
                              stage.worst ? place_of(*stage.worst) : ""));
  }
  if (stage.not_finite > 0) {
    return failed(view, stage, Cause::nan, fmt::format("{} makes {}: {}.", op, stage.value, extent_of(stage)));
  }
  const StageDiff* as_read = view.diff_of(stage.step, DiffMode::as_read);
  if (as_read != nullptr && !as_read->failed()) {
    return failed(view, stage, Cause::other,
                  fmt::format("{} read other data than it should have, from a source unknown (no access was seen in a "
                              "wrong order): {}: {}; given what it read its result is right.",
                              op, stage.value, extent_of(stage)));
  }
  return failed(view, stage, Cause::wrong_math,
                fmt::format("{} computes {} wrong from the right inputs: {}.", op, stage.value, extent_of(stage)));
}

std::optional<Verdict> inconclusive(const Diff* diff) {
  std::int64_t compared = 0, nonzero = 0, outputs = 0, nonzero_outputs = 0;
  std::string reason;
  if (diff != nullptr) {
    for (const StageDiff& stage : diff->stages) {
      const bool is_output = stage.mode == DiffMode::chained;
      (is_output ? outputs : compared) += stage.compared;
      (is_output ? nonzero_outputs : nonzero) += stage.nonzero;
      if (!stage.not_comparable.empty()) reason = fmt::format("{}: {}", stage.stage, stage.not_comparable);
    }
  }
  if (compared + outputs == 0) reason = "nothing was compared";
  if (reason.empty() && nonzero + nonzero_outputs == 0) reason = "every value compared is expected to be zero";
  if (reason.empty() && outputs > 0 && nonzero_outputs == 0) reason = "every output is expected to be zero";
  if (reason.empty()) return std::nullopt;
  Verdict verdict;
  verdict.status = Status::inconclusive;
  verdict.explanation = "Equal results would prove nothing: " + reason + ".";
  return verdict;
}

}  // namespace

std::optional<Verdict> judge_numbers(const CaseView& view) {
  if (view.diff != nullptr) {
    if (const StageDiff* local = first_failure(*view.diff, DiffMode::local)) return judge_stage(view, *local);
    if (const StageDiff* chained = first_failure(*view.diff, DiffMode::chained)) {
      return failed(view, *chained, chained->not_finite > 0 ? Cause::nan : Cause::wrong_math,
                    fmt::format("Every stage is right for its own inputs, but end to end {} is not: {}.",
                                chained->value, extent_of(*chained)));
    }
  }
  return inconclusive(view.diff);
}

}  // namespace moediff
