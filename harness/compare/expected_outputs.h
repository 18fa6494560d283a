// What a right op would have stored: for the experiment that puts it in the place of the op's own result.
#pragma once

#include <map>

#include "harness/compare/compare.h"

namespace moediff {

/// Output tensors of a call by operand, computed by the reference from the values the call was meant to read, rounded
/// once to the operand's dtype. Empty when the reference cannot compute them from what was captured.
std::map<int, Tensor> expected_outputs(const Program& program, const Run& run, int step, Expected& expected);

}  // namespace moediff
