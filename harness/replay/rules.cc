#include "harness/replay/rules.h"

#include <charconv>
#include <optional>

#include "harness/core/check.h"

namespace moediff {
namespace {

constexpr std::string_view kPrefix = "tolerance.";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

const RuleRow* find_rule(std::string_view kind, const ExpectedTensor& expected) {
  for (const RuleRow& row : kRules) {
    const bool fits = (row.kind.empty() || row.kind == kind) && ends_with(expected.oracle, row.oracle) &&
                      row.precision == expected.precision;
    if (fits) return &row;
  }
  return nullptr;
}

/// A tolerance is stated for one tensor, for a name in one precision, or for a name.
std::array<std::string, 3> tolerance_keys(const ExpectedTensor& expected) {
  return {expected.tensor, expected.precision + "." + expected.name, expected.name};
}

std::optional<double> stated_tolerance(ReplayFile& file, const ExpectedTensor& expected) {
  for (const std::string& key : tolerance_keys(expected)) {
    const std::string text = file.metadata(std::string(kPrefix) + key);
    if (text.empty()) continue;
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = problem == std::errc() && end == text.data() + text.size();
    if (whole && value >= 0 && value <= kLargestTolerance) return value;
    file.mistakes().add(text, "metadata 'tolerance." + key + "' must be a number from 0 to 0.1",
                        "state it as a number like 1e-6");
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool has_rule(std::string_view kind, const ExpectedTensor& expected) { return find_rule(kind, expected) != nullptr; }

Rule rule_for(ReplayFile& file, const ExpectedTensor& expected) {
  const RuleRow* const row = find_rule(file.kind(), expected);
  CHECK(row != nullptr, "callers ask for precisions that have a rule");
  Rule rule = row->rule;
  if (const std::optional<double> stated = stated_tolerance(file, expected)) rule = {rule.measure, *stated, true};
  return rule;
}

void check_tolerances(ReplayFile& file, const std::vector<ExpectedTensor>& numeric) {
  for (const auto& entry : file.metadata()) {
    if (entry.first.rfind(kPrefix, 0) != 0) continue;
    const std::string key = entry.first.substr(kPrefix.size());
    bool used = false;
    for (const ExpectedTensor& expected : numeric) {
      for (const std::string& name : tolerance_keys(expected)) used = used || name == key;
    }
    if (!used) {
      file.mistakes().add(entry.first, "a tolerance must be that of a numeric check of the file",
                          "name an expected tensor, or a name like 'final'; integers and codes are compared exactly");
    }
  }
}

}  // namespace moediff
