// The intervention for wrong numbers: what the reference expects, in the place of an op's own result.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/compare/compare.h"

namespace moediff {

struct Replacement {
  std::string name;  ///< "put the expected gemm2_out in the place of gemm2"
  Program program;
  std::shared_ptr<const Inputs> inputs;  ///< the group's, and the expected tensors
};

/// Replaces every call of the op that step `step` calls (one a chunk). None when the step is no call, when the
/// reference cannot compute an output, or when the op has scratch.
std::optional<Replacement> replace_by_expected(const Program& program, const Run& run, int step, Expected& expected);

}  // namespace moediff
