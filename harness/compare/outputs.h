// A Program's results in a run, as the candidate stored them.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/run/run.h"

namespace moediff {

/// Elements of the outputs in row order: as doubles, in algebra mode as doubles with the elements' bits. Empty when
/// they were not captured.
std::vector<double> outputs_of(const Program& program, const Run& run);
/// Experts that the router chose, [tokens * top_k]; empty without a router.
std::vector<std::int32_t> choices_of(const Program& program, const Run& run);

}  // namespace moediff
