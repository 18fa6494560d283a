// End to end: the Program's logical dataflow evaluated in double from the case's inputs, with the error that all the
// candidate's roundings together may make.
#pragma once

#include <map>

#include "harness/compare/compare.h"

namespace moediff {

/// Adds the chained diffs of the outputs to `diff`, and fills worst_chained and the output_* arrays. `legitimate`, by
/// router step: the candidate's routing is taken where true, the expected one elsewhere. Buffers play no part: what a
/// step means to read is what its values are. Adds nothing when an output does not follow from the inputs.
void compare_chained(const Program& program, const Run& run, Expected& expected, const std::map<int, bool>& legitimate,
                     Diff& diff);

}  // namespace moediff
