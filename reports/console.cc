// The short parts of the console report: a line a case, the plan, the summary. Failures in full are in failure.cc.
#include "reports/console.h"

#include <fmt/core.h>

#include "harness/core/text.h"
#include "reports/colour.h"
#include "reports/safe_text.h"

namespace moediff {
namespace {

constexpr int kOutcomeWidth = 12;  // the longest outcome and its gap

std::string outcome_column(Status status, bool as_expected, bool colour) {
  const std::string word = fmt::format("{:<{}}", outcome(status, as_expected), kOutcomeWidth);
  return paint(word, outcome_ink(status, as_expected), colour);
}

/// What a line says after the id: nothing for a pass.
std::string line_remark(const CaseRecord& record) {
  if (record.verdict.status == Status::skipped) return record.spec.skip_reason.value_or("");
  const std::string cause = cause_and_place(record.verdict);
  if (record.as_expected) return cause;
  return cause.empty() ? record.unexpected_because : record.unexpected_because + "; " + cause;
}

std::string plan_remark(const Case& spec) {
  if (spec.skip_reason) return "skipped: " + *spec.skip_reason;
  if (spec.expect.status == Status::pass) return "";
  std::string text = fmt::format("expect {}", to_string(spec.expect.status));
  if (spec.expect.cause) text += fmt::format(" {}", to_string(*spec.expect.cause));
  if (!spec.expect.blame_op.empty()) text += " at " + spec.expect.blame_op;
  return text;
}

std::string count_of(std::int64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

}  // namespace

std::string render_plan(std::span<const Case> cases) {
  std::string text;
  std::int64_t skipped = 0;
  for (const Case& spec : cases) {
    const std::string remark = plan_remark(spec);
    text += safe_text(remark.empty() ? spec.id : fmt::format("{}  {}", spec.id, remark)) + "\n";
    skipped += spec.skip_reason.has_value();
  }
  const auto total = static_cast<std::int64_t>(cases.size());
  return text + fmt::format("{}, {} to run, {} skipped\n", count_of(total, "case", "cases"), total - skipped, skipped);
}

std::string render_case_line(const CaseRecord& record, bool colour) {
  std::string line = outcome_column(record.verdict.status, record.as_expected, colour) + safe_text(record.spec.id);
  const std::string remark = safe_text(line_remark(record));
  if (!remark.empty()) line += "  " + remark;
  if (record.verdict.status != Status::skipped) {
    line += paint(fmt::format("  {:.2f} s", record.seconds), Ink::grey, colour);
  }
  return line + "\n";
}

std::string render_relation_line(const RelationRecord& relation, bool colour) {
  std::string line = outcome_column(relation.status, relation.as_expected, colour);
  line += safe_text(fmt::format("{} in {}, {}", relation.relation, relation.group, relation.rule));
  if (relation.status == Status::skipped) return line + safe_text("  " + relation.skip_reason.value_or("")) + "\n";
  return line + fmt::format("  {} compared\n", count_of(relation.compared, "element", "elements"));
}

std::string render_summary(const Report& report, bool colour) {
  const Summary& s = report.summary;
  std::string text =
      fmt::format("{}: {} pass, {} fail, {} inconclusive, {} error, {} skipped", count_of(s.cases, "case", "cases"),
                  s.pass, s.fail, s.inconclusive, s.error, s.skipped);
  if (s.collapsed > 0) text += fmt::format(" ({} collapsed: the same Program as another case)", s.collapsed);
  text += fmt::format("\n{}: {} pass, {} fail, {} skipped\n", count_of(s.relations, "relation", "relations"),
                      s.relations_pass, s.relations_fail, s.relations_skipped);
  const bool nothing = s.unexpected == 0 && s.pass + s.fail == 0;
  const std::string verdict = nothing             ? paint("nothing was checked", Ink::yellow, colour)
                              : s.unexpected == 0 ? paint("everything as expected", Ink::green, colour)
                                                  : paint(fmt::format("{} UNEXPECTED", s.unexpected), Ink::red, colour);
  return text + fmt::format("{}, {:.1f} s\n", verdict, s.seconds);
}

}  // namespace moediff
