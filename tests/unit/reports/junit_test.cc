#include "reports/junit.h"

#include <gtest/gtest.h>

#include "tests/unit/reports/sample_report.h"
#include "tests/unit/reports/text_files.h"

namespace moediff {
namespace {

TEST(Junit, TheSampleReportReadsAsExpected) {
  EXPECT_EQ(text_difference(read_source_file("tests/unit/reports/expected_junit.xml"), render_junit(sample_report())),
            "");
}

TEST(Junit, ACaughtFaultIsNoFailure) {
  Report report;
  report.cases = {founding_bug()};
  const std::string xml = render_junit(report);
  EXPECT_NE(xml.find("failures=\"0\""), std::string::npos);
  EXPECT_EQ(xml.find("<failure"), std::string::npos);
  EXPECT_NE(xml.find("<system-out>caught"), std::string::npos);
}

TEST(Junit, AnErrorAsStatusIsAFailureBecauseItIsUnexpected) {
  Report report;
  report.cases = {two_streams_pass()};
  report.cases[0].verdict.status = Status::error;
  report.cases[0].as_expected = false;
  report.cases[0].unexpected_because = "status is error, expected pass";
  const std::string xml = render_junit(report);
  EXPECT_NE(xml.find("<failure message=\"status is error, expected pass\">"), std::string::npos);
}

TEST(Junit, ControlCharactersAndMarkupDoNotBreakTheXml) {
  Report report;
  report.cases = {dropped_wait()};
  report.cases[0].verdict.explanation = "a\x01 <b> & ]]> \xff";
  const std::string xml = render_junit(report);
  EXPECT_NE(xml.find("a &lt;b&gt; &amp; ]]&gt; \xEF\xBF\xBD"), std::string::npos);
}

}  // namespace
}  // namespace moediff
