// write_sample page|page-large|json|junit|console: one sample report on stdout, for looking at it and for the browser
// test.
#include <cstdio>
#include <string_view>

#include "reports/console.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/junit.h"
#include "tests/unit/reports/sample_report.h"

int main(int argc, char** argv) {
  using namespace moediff;
  const std::string_view what = argc == 2 ? argv[1] : "";
  std::string text;
  if (what == "page") text = render_html(sample_report());
  if (what == "page-large") text = render_html(large_report(700));
  if (what == "json") text = render_json(sample_report());
  if (what == "junit") text = render_junit(sample_report());
  if (what == "console") {
    for (const CaseRecord& record : sample_report().cases) text += render_case_line(record, use_colour(stdout));
    for (const RelationRecord& relation : sample_report().relations) {
      text += render_relation_line(relation, use_colour(stdout));
    }
    text += "\n" + render_failures(sample_report(), use_colour(stdout)) +
            render_summary(sample_report(), use_colour(stdout));
  }
  std::fputs(text.c_str(), stdout);
  return text.empty() ? 2 : 0;
}
