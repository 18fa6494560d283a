// JUnit as most CI systems read it: testsuites > testsuite > testcase, with failure, skipped or system-out inside.
#include "reports/junit.h"

#include <fmt/core.h>

#include <map>
#include <string_view>
#include <vector>

#include "reports/console.h"
#include "reports/safe_text.h"

namespace moediff {
namespace {

struct TestCase {
  std::string name;
  double seconds = 0;
  bool failure = false, skipped = false;
  std::string message{};  ///< of failure or skipped
  std::string text{};     ///< the block of the console
};

struct Suite {
  std::string name;
  std::vector<TestCase> cases;
};

TestCase from_case(const CaseRecord& record) {
  TestCase test{.name = record.spec.id, .seconds = record.seconds};
  test.failure = !record.as_expected;
  test.skipped = record.as_expected && record.verdict.status == Status::skipped;
  test.message = test.failure ? record.unexpected_because : record.spec.skip_reason.value_or("");
  if (test.failure || record.verdict.status == Status::fail) test.text = render_failure(record, false);
  return test;
}

TestCase from_relation(const RelationRecord& relation) {
  TestCase test{.name = fmt::format("relation {} in {}", relation.relation, relation.group)};
  test.failure = !relation.as_expected;
  test.skipped = relation.as_expected && relation.status == Status::skipped;
  test.message = test.failure ? relation.explanation : relation.skip_reason.value_or("");
  if (test.failure || relation.status == Status::fail) test.text = render_relation_failure(relation, false);
  return test;
}

std::vector<Suite> suites_of(const Report& report) {
  std::vector<Suite> suites;
  std::map<std::string, std::size_t> known;
  const auto suite = [&](const std::string& scenario) -> Suite& {
    const auto [entry, fresh] = known.emplace(scenario, suites.size());
    if (fresh) suites.push_back({scenario, {}});
    return suites[entry->second];
  };
  for (const CaseRecord& record : report.cases) suite(record.spec.scenario).cases.push_back(from_case(record));
  for (const RelationRecord& relation : report.relations) {
    suite(relation.scenario).cases.push_back(from_relation(relation));
  }
  return suites;
}

std::string inside(const TestCase& test) {
  if (test.failure) {
    return fmt::format("      <failure message=\"{}\">{}</failure>\n", xml_text(test.message), xml_text(test.text));
  }
  if (test.skipped) return fmt::format("      <skipped message=\"{}\"/>\n", xml_text(test.message));
  if (!test.text.empty()) return fmt::format("      <system-out>{}</system-out>\n", xml_text(test.text));
  return "";
}

std::string test_xml(const Suite& suite, const TestCase& test) {
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                                       xml_text(suite.name), xml_text(test.name), test.seconds);
  const std::string content = inside(test);
  return content.empty() ? head + "/>\n" : head + ">\n" + content + "    </testcase>\n";
}

struct Counts {
  std::size_t tests = 0, failures = 0, skipped = 0;
  double seconds = 0;
};

Counts count(const Suite& suite) {
  Counts counts{.tests = suite.cases.size()};
  for (const TestCase& test : suite.cases) {
    counts.failures += test.failure;
    counts.skipped += test.skipped;
    counts.seconds += test.seconds;
  }
  return counts;
}

std::string count_attributes(const Counts& c) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\"", c.tests, c.failures,
                     c.skipped, c.seconds);
}

}  // namespace

std::string render_junit(const Report& report) {
  std::string body;
  Counts total;
  for (const Suite& suite : suites_of(report)) {
    const Counts counts = count(suite);
    body += fmt::format("  <testsuite name=\"{}\" {}>\n", xml_text(suite.name), count_attributes(counts));
    for (const TestCase& test : suite.cases) body += test_xml(suite, test);
    body += "  </testsuite>\n";
    total.tests += counts.tests;
    total.failures += counts.failures;
    total.skipped += counts.skipped;
    total.seconds += counts.seconds;
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"moediff\" {}>\n{}</testsuites>\n",
                     count_attributes(total), body);
}

}  // namespace moediff
