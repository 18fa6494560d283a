// Which failures are shown in full: a run may catch the same planted fault hundreds of times, and one block says it
// all.
#include <fmt/core.h>

#include <map>
#include <string>
#include <vector>

#include "reports/colour.h"
#include "reports/console.h"
#include "reports/safe_text.h"

namespace moediff {
namespace {

constexpr std::size_t kUnexpectedShown = 10;

struct Kind {
  const CaseRecord* first;
  std::size_t count;
};

/// Caught cases by cause and place, in order of appearance.
std::vector<Kind> caught_kinds(const std::vector<CaseRecord>& cases) {
  std::vector<Kind> kinds;
  std::map<std::string, std::size_t> known;
  for (const CaseRecord& record : cases) {
    if (record.verdict.status != Status::fail || !record.as_expected) continue;
    const auto [entry, fresh] = known.emplace(cause_and_place(record.verdict), kinds.size());
    if (fresh) {
      kinds.push_back({&record, 1});
    } else {
      ++kinds[entry->second].count;
    }
  }
  return kinds;
}

std::string caught_text(const std::vector<CaseRecord>& cases, bool colour) {
  std::string text;
  for (const Kind& kind : caught_kinds(cases)) {
    text += render_failure(*kind.first, colour);
    if (kind.count > 1) {
      text += fmt::format("  + {} more like it: the lines above with \"{}\"\n", kind.count - 1,
                          safe_text(cause_and_place(kind.first->verdict)));
    }
    text += "\n";
  }
  return text;
}

std::string unexpected_text(const Report& report, bool colour) {
  std::string text;
  std::size_t seen = 0;
  for (const CaseRecord& record : report.cases) {
    if (!record.as_expected && ++seen <= kUnexpectedShown) text += render_failure(record, colour) + "\n";
  }
  for (const RelationRecord& relation : report.relations) {
    if (!relation.as_expected && ++seen <= kUnexpectedShown) text += render_relation_failure(relation, colour) + "\n";
  }
  if (seen > kUnexpectedShown) {
    text += fmt::format("+ {} more: the lines above that begin with UNEXPECTED\n\n", seen - kUnexpectedShown);
  }
  return text;
}

}  // namespace

std::string render_failures(const Report& report, bool colour) {
  return caught_text(report.cases, colour) + unexpected_text(report, colour);
}

}  // namespace moediff
