// From the end of a worker and the status page it left to a verdict-ready sentence: what happened, in which step.
#pragma once

#include <optional>
#include <string>

#include "harness/run/execute.h"
#include "harness/run/run.h"
#include "harness/run/status_page.h"

namespace moediff {

/// "step gemm1 (kernel gemm_tile)", "loading the provider", …: what the page says was going on.
std::string describe_work(const Program& program, const StatusPage& page);

/// The worker ended by itself: `how` is "signal 11 (SIGSEGV)". An illegal access that the backend reported becomes
/// out_of_bounds, everything else a crash.
Run run_after_death(const Program& program, const StatusPage& page, const std::string& how);
/// The worker did not answer in time and was killed.
Run run_after_timeout(const Program& program, const StatusPage& page, double seconds);

/// The probe that was at work when the worker ended, if it was at work.
std::optional<ProbeCrash> interrupted_probe(const Program& program, const StatusPage& page, const std::string& note);

}  // namespace moediff
