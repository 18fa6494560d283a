// What the judge's rules look at, and the names and numbers they put into sentences. Names go into sentences and blame
// only: no rule compares one.
#pragma once

#include <string>

#include "harness/compare/diff.h"
#include "harness/judge/verdict.h"
#include "harness/run/run.h"

namespace moediff {

struct CaseView {
  const Program& program;
  const Run& run;
  const OrderResult& order;
  const Diff* diff;  ///< null when the run did not end well

  /// The op's name for a call, the step's name without its chunk otherwise; "" for -1.
  std::string op_name(int step) const;
  std::string stream_name(int step) const;
  /// "shared_gemm1 (main)".
  std::string op_on_stream(int step) const;
  std::string value_name(int value) const;
  /// The worst diff of a step in one mode; null when there is none.
  const StageDiff* diff_of(int step, DiffMode mode) const;
  /// Names op, stage, stream and number of a step.
  Blame blame(int step) const;
};

}  // namespace moediff
