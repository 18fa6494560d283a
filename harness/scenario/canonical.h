// The experiment of a case in canonical YAML, without its name and expectation.
#pragma once

#include <string>

#include "harness/scenario/case.h"

namespace moediff {

/// All keys but scenario, id and expect. Equal texts mean equal experiments.
std::string canonical_body(const Case& spec);

}  // namespace moediff
