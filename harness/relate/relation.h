// Relations between cases of one group: what must be equal whatever the streams, the order, the chunks, the schedule.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/compare/diff.h"
#include "harness/model/verdict_words.h"
#include "harness/scenario/case.h"

namespace moediff {

struct RelationRecord {
  std::string relation;  ///< "none=aux"
  std::string group, scenario;
  std::vector<std::string> members;  ///< case ids; the first is what the others are compared with
  std::string rule;                  ///< "bitwise" | "bound" | "1e-10"
  Status status = Status::pass;
  std::int64_t compared = 0;
  std::optional<Mismatch> first_difference;
  std::int64_t left_out = 0;  ///< tokens whose choice of experts differs, where a choice may: near-ties
  std::string explanation;
  std::optional<std::string> skip_reason;
  double budget_used = 0;   ///< rules other than bitwise: largest difference over its bound
  bool as_expected = true;  ///< holds, or is skipped; set by summarize()
};

/// One case's result, as relations see it.
struct Outcome {
  const Case* spec = nullptr;
  Status status = Status::pass;
  std::int64_t hidden = 0;                      ///< columns of the output
  std::vector<double> actual, expected, bound;  ///< [tokens * hidden], see Diff
  std::vector<double> captured;                 ///< the output in a capture, empty when there is none
  std::vector<double> again;                    ///< the output of a second, serialised run; empty when there was none
  std::vector<std::int32_t> choices;            ///< [tokens * top_k] experts, sorted by token; empty when not captured
};

/// One row a relation; `relate` makes a record for each that has members in the group.
struct RelationRow {
  std::string_view name;
  std::string_view rule;
  std::string_view meaning;
  /// Whether the case takes part, and on which side: 0 = baseline, 1 = other, -1 = not.
  int (*side)(const Case& spec);
  bool across_fusion = false;  ///< compares fused with unfused experts, which round at different places
};
std::span<const RelationRow> relations();

/// Cases that failed are left out of every relation: a relation judges what the cases' own checks let through.
std::vector<RelationRecord> relate(const std::string& group, std::span<const Outcome> outcomes);

}  // namespace moediff
