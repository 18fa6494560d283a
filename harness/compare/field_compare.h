// Algebra mode: outputs of ops and of the whole Program, byte for byte.
#pragma once

#include <optional>
#include <vector>

#include "harness/compare/compare.h"
#include "harness/compare/stage.h"

namespace moediff {

/// Diffs of a call's outputs, given its inputs.
std::vector<StageDiff> compare_field_call(const Program& program, const Run& run, int step, DiffMode mode,
                                          const StageInputs& inputs, Expected& expected);

/// End to end: the Program's logical dataflow over the field, from the case's inputs. Adds the diffs of the outputs,
/// and fills worst_chained and the output_* arrays.
void compare_field_chained(const Program& program, const Run& run, Expected& expected, Diff& diff);

}  // namespace moediff
