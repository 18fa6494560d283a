// Names for the rows and columns of an output: token, expert, slot, column.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/compare/diff.h"
#include "harness/run/run.h"

namespace moediff {

/// Row by row, -1 where a name does not apply. Tokens count within the value; `first_token` is added in reports.
struct Coordinates {
  std::vector<std::int64_t> token, expert, slot;  ///< by row
  std::int64_t columns = 1;
  std::int64_t first_token = 0;
  std::int64_t tokens = 0;  ///< extent of `token`
  bool columns_are_experts = false;

  std::int64_t token_of(std::size_t element) const { return token[element / static_cast<std::size_t>(columns)]; }
  /// A mismatch at the element, named; expected, actual and bound are the caller's.
  Mismatch name(std::size_t element, std::size_t rank) const;
};

/// Of the output `operand` of step `step`. Rows sorted by expert are named by the candidate's own dispatch of the same
/// chunk, which is what the rows mean to the candidate.
Coordinates coordinates(const Program& program, const Run& run, int step, int operand);

}  // namespace moediff
