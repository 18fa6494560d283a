// What of a call decides its result, besides the content of its inputs.
#pragma once

#include "harness/core/hash.h"
#include "harness/program/program.h"

namespace moediff {

/// Adds the op, its parameters and the dtypes and shapes of its operands.
void add_call(Hasher& hasher, const Step& step);

}  // namespace moediff
