// Runs a Program in this process: under its schedule, or as the serialised observation pass. The worker and the
// in-process executor both call this.
#pragma once

#include <optional>
#include <vector>

#include "harness/run/module.h"
#include "harness/run/run.h"
#include "harness/run/status_page.h"

namespace moediff {

/// A probe that ended the process once, and must not be tried again: the parent tells the next worker.
struct ProbeCrash {
  int step = -1;
  int target = -1;   ///< a block, or a ProbeTarget
  std::string note;  ///< what happened
  bool operator==(const ProbeCrash&) const = default;
};
/// What is perturbed in a repetition of a step: one block (>= 0), everything undeclared, or nothing.
enum ProbeTarget : int { kProbeEverything = -1, kProbeNothing = -2 };

/// Never throws for anything the candidate does. Captured weights are left empty on backends that protect them: see
/// fill_weights.
Run execute(const RunRequest& request, const Inputs& inputs, const std::vector<ProbeCrash>& crashes, Modules& modules,
            StatusPage& page);

}  // namespace moediff
