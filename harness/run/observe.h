// The observation pass: every call is issued alone, its page touches are noted, the bytes it changed are found by
// snapshot, and it is repeated on complemented memory to see whether its outputs depend on what it does not declare.
#pragma once

#include <vector>

#include "harness/run/execute.h"
#include "harness/run/session.h"

namespace moediff {

/// `crashes`: probes that must not be tried again. Throws RunFailure for what the step itself does; what a probe does
/// is recorded in its StepAccesses. Steps that are no calls are executed, and have no touches: the Program knows them.
Run observe(RunSession& session, const std::vector<ProbeCrash>& crashes);

}  // namespace moediff
