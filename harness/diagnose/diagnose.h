// A plausible cause is not evidence: the failing case is run again with one intervention at a time. What cures it is
// the cause; what does not is reported too (architecture §6).
#pragma once

#include "harness/compare/compare.h"
#include "harness/judge/verdict.h"
#include "harness/order/order.h"
#include "harness/run/executor.h"

namespace moediff {

/// Everything an experiment needs: the request that failed, where to run, what to compare with.
struct Laboratory {
  Executor* executor = nullptr;
  Expected* expected = nullptr;
  RunRequest request;  ///< the case's own request; its program is the failing one
};

/// Runs the experiments that fit the verdict's cause and adds their results: `evidence`, `confidence`, and the proof
/// (with both numbers) to `explanation`. `run` and `diff` are those of the failing case; `diff` may be null.
void diagnose(Verdict& verdict, const Run& run, const OrderResult& order, const Diff* diff, const Laboratory& lab);

}  // namespace moediff
