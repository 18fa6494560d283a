// The first hazard decides; its sentence says who met whom, and what the numbers of this run say about it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/text.h"
#include "harness/judge/rules.h"
#include "harness/judge/versions_read.h"

namespace moediff {
namespace {

/// Name of the memory in conflict.
std::string memory_name(const CaseView& view, const Hazard& hazard) {
  return hazard.buffer < 0 ? hazard.memory : view.program.buffers[hazard.buffer].name;
}

/// The value in conflict, or the memory where no value is known.
std::string thing(const CaseView& view, const Hazard& hazard) {
  const std::string value = view.value_name(hazard.value);
  return value.empty() ? memory_name(view, hazard) : value;
}

/// The same with the memory that holds it, where that has another name.
std::string thing_in_memory(const CaseView& view, const Hazard& hazard) {
  const std::string name = thing(view, hazard), memory = memory_name(view, hazard);
  return name == memory ? name : name + " in " + memory;
}

/// " with routed_out in place": what a declared writer put there.
std::string with_what(const CaseView& view, const Hazard& hazard) {
  for (const int operand : write_operands(view.program.steps[hazard.writer])) {
    const Operand& o = view.program.steps[hazard.writer].operands[operand];
    if (o.buffer == hazard.buffer && overlap(o.region, hazard.region) && !o.values.empty()) {
      return " with " + view.value_name(o.values.front()) + " in place";
    }
  }
  return "";
}

std::string stale_read(const CaseView& view, const Hazard& hazard) {
  const std::string value = thing(view, hazard);
  if (hazard.writer < 0) {
    return fmt::format("{} reads {} before it is written", view.op_on_stream(hazard.reader), value);
  }
  const std::string writer = view.op_on_stream(hazard.writer) + (hazard.reader < 0 ? " overwrites " : " overwrote ");
  const std::string what = with_what(view, hazard);
  if (hazard.reader < 0) return fmt::format("{}{}{} before the host reads it", writer, value, what);
  return fmt::format("{} reads {} after {}it{}", view.op_on_stream(hazard.reader), value, writer, what);
}

std::string undeclared_write(const CaseView& view, const Hazard& hazard) {
  const std::string head =
      fmt::format("{} writes {} of {}, which it does not declare to write", view.op_on_stream(hazard.writer),
                  to_string(hazard.region), memory_name(view, hazard));
  if (hazard.reader < 0) return head;
  return fmt::format("{}; {} means to read {} there", head, view.op_on_stream(hazard.reader), thing(view, hazard));
}

std::string undeclared_read(const CaseView& view, const Hazard& hazard) {
  const std::string who = hazard.writer < 0 ? "" : ", last written by " + view.op_on_stream(hazard.writer);
  return fmt::format("{} depends on {} of {}, which it does not declare to read{}", view.op_on_stream(hazard.reader),
                     to_string(hazard.region), memory_name(view, hazard), who);
}

std::string unordered_access(const CaseView& view, const Hazard& hazard) {
  return fmt::format("{} writes and {} uses {}, and nothing orders them", view.op_on_stream(hazard.writer),
                     view.op_on_stream(hazard.reader), thing_in_memory(view, hazard));
}

std::string lifetime(const CaseView& view, const Hazard& hazard) {
  const std::string next =
      hazard.writer < 0 ? "" : fmt::format("; {} writes the same memory", view.op_on_stream(hazard.writer));
  return fmt::format("{} uses {} outside the time for which the pool lent it{}", view.op_on_stream(hazard.reader),
                     thing_in_memory(view, hazard), next);
}

std::string shared_workspace(const CaseView& view, const Hazard& hazard) {
  return fmt::format("{} and {} may run at once and use the same scratch memory ({}, {})",
                     view.op_on_stream(hazard.writer), view.op_on_stream(hazard.reader), memory_name(view, hazard),
                     to_string(hazard.region));
}

std::string uninitialised(const CaseView& view, const Hazard& hazard) {
  return fmt::format("{} reads {}, which nobody had written", view.op_on_stream(hazard.reader), thing(view, hazard));
}

struct SentenceRow {
  Cause kind;
  std::string (*sentence)(const CaseView&, const Hazard&);
};
constexpr std::array<SentenceRow, 7> kSentences{{
    {Cause::stale_read, stale_read},
    {Cause::undeclared_write, undeclared_write},
    {Cause::undeclared_read, undeclared_read},
    {Cause::unordered_access, unordered_access},
    {Cause::lifetime, lifetime},
    {Cause::shared_workspace, shared_workspace},
    {Cause::uninitialised, uninitialised},
}};

/// "given what it read its result is right (0.12 of the error budget), given what it should have read it is off by …".
std::string numbers(const CaseView& view, int victim) {
  const StageDiff* meant = view.diff_of(victim, DiffMode::local);
  const StageDiff* as_read = view.diff_of(victim, DiffMode::as_read);
  if (meant == nullptr) return "";
  if (!meant->failed()) {
    return fmt::format("in this run its result is right nonetheless ({} of the error budget)",
                       short_number(meant->budget_used));
  }
  const std::string off = meant->not_finite > 0
                              ? fmt::format("has {} values that are not finite", meant->not_finite)
                              : fmt::format("is off by {} of max|expected|", short_number(meant->max_rel));
  const bool explained = as_read != nullptr && !as_read->failed();
  return explained ? fmt::format(
                         "given what it read its result is right ({} of the error budget), given what it should "
                         "have read it {}",
                         short_number(as_read->budget_used), off)
                   : fmt::format("its result {}", off);
}

std::string explain(const CaseView& view, const Hazard& hazard) {
  const auto* row =
      std::find_if(kSentences.begin(), kSentences.end(), [&](const SentenceRow& r) { return r.kind == hazard.kind; });
  std::vector<std::string> parts{row->sentence(view, hazard)};
  if (!hazard.edge_missing.empty()) parts.push_back(hazard.edge_missing);
  const std::optional<Spoiled> spoiled = bytes_of_another_version(view.program, view.run, hazard);
  if (spoiled && spoiled->different > 0) {
    parts.push_back(fmt::format("{} of {} bytes are another version", spoiled->different, spoiled->bytes));
  }
  const std::string measured = hazard.reader < 0 ? "" : numbers(view, hazard.reader);
  if (!measured.empty()) parts.push_back(measured);
  std::string text = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) text += (i == 1 ? ": " : "; ") + parts[i];
  return text + ".";
}

}  // namespace

std::optional<Verdict> judge_hazards(const CaseView& view) {
  if (view.order.hazards.empty()) return std::nullopt;
  const Hazard& hazard = view.order.hazards.front();
  Verdict verdict;
  verdict.status = Status::fail;
  verdict.cause = hazard.kind;
  verdict.certain = true;
  verdict.hazard = 0;
  // An undeclared write breaks the writer's contract, and what nobody reads can only be the writer's doing.
  const bool blames_writer = hazard.kind == Cause::undeclared_write || hazard.reader < 0;
  verdict.blame = view.blame(blames_writer ? hazard.writer : hazard.reader);
  verdict.blame.writer = view.op_name(hazard.writer);
  verdict.blame.value = view.value_name(hazard.value);
  verdict.blame.buffer = memory_name(view, hazard);
  verdict.explanation = explain(view, hazard);
  return verdict;
}

}  // namespace moediff
