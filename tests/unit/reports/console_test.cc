// The console report against expected texts, and the rules that keep it short.
#include "reports/console.h"

#include <gtest/gtest.h>

#include "tests/unit/reports/sample_report.h"
#include "tests/unit/reports/text_files.h"

namespace moediff {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Console, TheSampleReportReadsAsExpected) {
  const Report report = sample_report();
  std::string text;
  for (const CaseRecord& record : report.cases) text += render_case_line(record, false);
  for (const RelationRecord& relation : report.relations) text += render_relation_line(relation, false);
  text += "\n" + render_failures(report, false) + render_summary(report, false);
  EXPECT_EQ(text_difference(read_source_file("tests/unit/reports/expected_console.txt"), text), "");
}

TEST(Console, AfterTenUnexpectedCasesTheRestIsCounted) {
  Report report;
  report.cases.assign(13, dropped_wait());
  const std::string text = render_failures(report, false);
  EXPECT_EQ(occurrences(text, "repro: "), 10u);
  EXPECT_NE(text.find("+ 3 more: the lines above that begin with UNEXPECTED"), std::string::npos);
}

TEST(Console, CaughtFailuresOfOneCauseAndPlaceAreShownOnce) {
  Report report;
  report.cases.assign(48, founding_bug());
  CaseRecord elsewhere = founding_bug();
  elsewhere.verdict.blame.op = "residual_add";
  report.cases.push_back(elsewhere);
  const std::string text = render_failures(report, false);
  EXPECT_EQ(occurrences(text, "repro: "), 2u);
  EXPECT_EQ(occurrences(text, "+ 47 more like it"), 1u);
}

TEST(Console, TheMismatchesAreThoseOfTheBlamedOpAndAtMostFour) {
  CaseRecord record = founding_bug();
  record.stages[0] = record.stages[6];
  record.stages[0].stage = record.stages[0].value = "gemm1";
  record.stages[6].mismatches.assign(9, record.stages[6].mismatches[0]);
  const std::string text = render_failure(record, false);
  EXPECT_NE(text.find("shared_gemm1_out of shared_gemm1, local: 640 of 640"), std::string::npos);
  EXPECT_EQ(occurrences(text, "token 3, column 17"), 4u);
}

TEST(Console, AMismatchWithoutNamesShowsItsIndex) {
  CaseRecord record = founding_bug();
  Mismatch plain;
  plain.index = {2, 5};
  record.stages[6].mismatches = {plain};
  EXPECT_NE(render_failure(record, false).find("element [2, 5]: expected 0, actual 0, bound 0"), std::string::npos);
}

TEST(Console, NothingUnexpectedAndNothingCaughtIsSilent) {
  Report report;
  report.cases = {two_streams_pass(), skipped_case()};
  EXPECT_EQ(render_failures(report, false), "");
}

TEST(Console, AMessageOfTheCandidateCannotSteerTheTerminal) {
  CaseRecord record = dropped_wait();
  record.verdict.explanation = "\033[2Jgone\r";
  EXPECT_EQ(render_failure(record, false).find('\033'), std::string::npos);
}

TEST(Console, ThePlanNamesExpectationsAndReasons) {
  const std::vector<Case> cases{two_streams_pass().spec, founding_bug().spec, skipped_case().spec};
  EXPECT_EQ(render_plan(cases),
            "streams/inplace/aux-shared_first-copied-bf16-t5\n"
            "streams/inplace/none-routed_first-inplace-bf16-t5  expect fail stale_read at shared_gemm1\n"
            "streams/inplace/fused-shared_first-inplace-bf16-t5  skipped: order means nothing when the shared experts "
            "are fused\n"
            "3 cases, 2 to run, 1 skipped\n");
}

}  // namespace
}  // namespace moediff
