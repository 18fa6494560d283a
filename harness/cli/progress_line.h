// What the user sees while cases run: the plan line at once, then progress on stderr and a line a case on stdout.
#pragma once

#include <chrono>

#include "harness/cli/command.h"
#include "harness/program/plan.h"
#include "harness/store/record.h"
#include "reports/progress.h"

namespace moediff {

class ProgressLine {
 public:
  ProgressLine(const Command& command, const Plan& plan);
  void show(const CaseRecord& record);
  /// Ends the progress line; seconds since the start.
  double finish();

 private:
  std::chrono::steady_clock::time_point start_;
  bool colour_;
  Progress progress_;
};

/// "plan: 342 cases in 57 groups; 8 skipped, 61 collapsed".
std::string plan_line(const Plan& plan);

}  // namespace moediff
