// The hidden verb `worker`: the candidate's side of the seam, started by the executor, not by people.
#pragma once

#include "harness/cli/command.h"
#include "harness/cli/run_plan.h"

namespace moediff {

bool is_worker(int argc, char** argv);
/// `moediff worker --fd N --backend NAME [--modules DIR]`.
int run_worker(int argc, char** argv);

RunSettings run_settings(const Command& command);
std::vector<std::string> known_fault_names();

}  // namespace moediff
