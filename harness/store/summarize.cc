// Summary of a report: one pass over the cases, one over the relations, nothing looked up twice.
#include <array>

#include "harness/store/record.h"

namespace moediff {
namespace {

void count_cases(const std::vector<CaseRecord>& cases, Summary& summary) {
  std::array<std::int64_t, kStatusNames.size()> by_status{};
  for (const CaseRecord& record : cases) {
    const auto represented = static_cast<std::int64_t>(record.collapsed.size());
    summary.cases += 1 + represented;
    summary.collapsed += represented;
    by_status[static_cast<std::size_t>(record.verdict.status)] += 1 + represented;
    (record.as_expected ? summary.as_expected : summary.unexpected) += 1 + represented;
  }
  const auto of = [&](Status status) { return by_status[static_cast<std::size_t>(status)]; };
  summary.pass = of(Status::pass);
  summary.fail = of(Status::fail);
  summary.inconclusive = of(Status::inconclusive);
  summary.skipped = of(Status::skipped);
  summary.error = of(Status::error);
}

}  // namespace

void summarize(Report& report) {
  Summary summary;
  summary.seconds = report.summary.seconds;
  count_cases(report.cases, summary);
  for (RelationRecord& relation : report.relations) {
    relation.as_expected = relation.status == Status::pass || relation.status == Status::skipped;
    summary.relations += 1;
    summary.relations_pass += relation.status == Status::pass;
    summary.relations_fail += relation.status == Status::fail;
    summary.relations_skipped += relation.status == Status::skipped;
    summary.relations_unexpected += !relation.as_expected;
  }
  summary.unexpected += summary.relations_unexpected;
  report.summary = summary;
}

}  // namespace moediff
