// Records: what a run leaves for people and scripts. The JSON of reports/schema.json is a rendering of these structs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/compare/diff.h"
#include "harness/judge/verdict.h"
#include "harness/relate/relation.h"
#include "harness/scenario/case.h"

namespace moediff {

/// A hazard in names, ready to print.
struct HazardRecord {
  std::string kind, writer, reader, value, region;
  std::optional<std::string> edge_missing;
  bool undeclared = false;
};

/// What the page draws: streams as lanes, steps as boxes, waits as arrows.
struct PictureStep {
  std::string name, kind, stream;  ///< kind: call, copy, record, wait, alloc, free, …
  int event = -1;
  std::vector<std::string> reads, writes;  ///< value names with their buffer: "routed_out @ hidden_states"
  bool clobbers = false, victim = false;   ///< drawn red
};
struct Picture {
  std::vector<std::string> streams;
  std::vector<PictureStep> steps;
};

struct CaseRecord {
  Case spec;
  std::string group, input_hash, program_hash;
  Verdict verdict;
  bool as_expected = true;
  std::string unexpected_because;  ///< "status is fail, expected pass"; "" when as expected
  std::vector<HazardRecord> hazards;
  std::string observed = "full";    ///< full | writes | declared
  std::optional<bool> independent;  ///< all schedules equal; null with reason
  std::optional<std::string> independent_reason;
  std::vector<std::string> redundant_waits;
  std::vector<StageDiff> stages;
  std::string schedule;  ///< policy
  std::string output_hash;
  int repeats = 1;
  std::string repro;
  std::vector<std::string> collapsed;  ///< ids of cases with the same canonical Program, represented by this one
  Picture picture;
  double seconds = 0;
};

struct Environment {
  std::string host, cpu, backend, device, runtime, provider, flags;
  int threads = 1;
  std::map<std::string, std::string> env;
};

/// The statuses and `as_expected` count cases (pass + fail + inconclusive + skipped + error = cases); relations have
/// their own counts. `unexpected` counts both, so that 0 means that nothing at all went wrong.
struct Summary {
  std::int64_t cases = 0, relations = 0;
  std::int64_t pass = 0, fail = 0, inconclusive = 0, skipped = 0, error = 0;
  std::int64_t collapsed = 0, as_expected = 0, unexpected = 0;
  std::int64_t relations_pass = 0, relations_fail = 0, relations_skipped = 0, relations_unexpected = 0;
  double seconds = 0;
};

struct Report {
  std::string version, commit, build;
  Environment environment;
  std::vector<std::string> command;
  Summary summary;
  std::vector<CaseRecord> cases;  ///< in plan order, skipped ones included
  std::vector<RelationRecord> relations;
};

/// Sets `summary` but for its seconds, and `as_expected` of the relations: a relation is expected to hold, for cases
/// that fail take no part in it. A collapsed case counts as a case with the status of the one that represents it.
void summarize(Report& report);

}  // namespace moediff
