// Diff × Hazards → Verdict. Pure function of what was measured: no fault table, no expectation, no names (renaming
// every op and buffer changes no cause).
#pragma once

#include "harness/compare/diff.h"
#include "harness/judge/verdict.h"
#include "harness/run/run.h"

namespace moediff {

/// `diff` may be null when the run did not end well.
Verdict judge(const Program& program, const Run& run, const OrderResult& order, const Diff* diff);

}  // namespace moediff
