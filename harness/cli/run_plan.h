// Plan → Records: every group computed once by the reference, every case once by the candidate (architecture §1).
#pragma once

#include <functional>
#include <vector>

#include "harness/cli/make_record.h"
#include "harness/program/plan.h"
#include "harness/run/executor.h"
#include "harness/store/record.h"

namespace moediff {

struct RunSettings {
  ExecutorOptions executor;
  ReproContext repro;
  int jobs = 1;  ///< groups worked on at once, each with a worker of its own
  bool fail_fast = false;
  std::optional<double> timeout;  ///< replaces the cases' own
};

/// Opens and checks every file that the plan's groups name, before anything runs. Throws UserError with all mistakes.
void check_inputs(const Plan& plan);

struct PlanResult {
  std::vector<CaseRecord> cases;  ///< by Plan::cases; cases not reached under fail_fast are left out
  std::vector<RelationRecord> relations;
};

/// `done` is called once a case, in the order they end, one at a time. The result does not depend on `jobs`.
PlanResult run_plan(const Plan& plan, const RunSettings& settings, const std::function<void(const CaseRecord&)>& done);

}  // namespace moediff
