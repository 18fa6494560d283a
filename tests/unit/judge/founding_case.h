// The founding bug as a judged case: combine writes over hidden_states in place, shared_gemm1 reads it afterwards.
#pragma once

#include "harness/judge/judge.h"

namespace moediff::test {

/// Steps: 0 gemm1, 1 combine, 2 shared_gemm1, 3 scale_add. Values: 0 hidden_states, 1 gemm1_out, 2 routed_out,
/// 3 shared_out, 4 moe_out.
struct FoundingCase {
  Program program;
  Run run;
  OrderResult order;  ///< no hazard
  Diff diff;          ///< every stage right

  FoundingCase();
  /// Adds the hazard, the capture that shows it and the diffs that follow from it.
  void plant();
  StageDiff& stage(int step, DiffMode mode);
  Verdict verdict() const { return judge(program, run, order, &diff); }
};

}  // namespace moediff::test
