// Pieces that the comparison of any stage needs.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/bounds/acceptance.h"
#include "harness/compare/diff.h"
#include "harness/run/run.h"

namespace moediff {

/// A diff with its names filled in, of output `operand` of `step`.
StageDiff named_diff(const Program& program, int step, int operand, DiffMode mode);
/// The captured bytes of an operand; empty when they are not there or not as many as its shape says.
std::span<const std::byte> captured(const Program& program, const Run& run, int step, int operand);
/// Compares the captured output with what is acceptable.
StageDiff compare_output(const Program& program, const Run& run, int step, int operand, DiffMode mode,
                         const bounds::Acceptance& expected);

}  // namespace moediff
