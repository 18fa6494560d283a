// The trace that a Program would leave if every step issued exactly one item: for the static check, and for backends
// that keep no trace.
#pragma once

#include <vector>

#include "harness/run/run.h"

namespace moediff {

std::vector<TraceItem> synthetic_trace(const Program& program);

}  // namespace moediff
