// Actual elements against acceptable ones: counts, the worst places, the error of each token.
#pragma once

#include <span>

#include "harness/compare/bounds/acceptance.h"
#include "harness/compare/coordinates.h"
#include "harness/compare/diff.h"

namespace moediff {

/// Fills everything of `diff` that counts elements. `actual` has the elements of `expected`; `rank` is the value's.
void compare_elements(const bounds::Acceptance& expected, std::span<const double> actual, const Coordinates& names,
                      std::size_t rank, StageDiff& diff);

/// Bitwise comparison of a copy: `expected` and `actual` are packed bytes of `dtype`.
void compare_bits(DType dtype, std::span<const std::byte> expected, std::span<const std::byte> actual,
                  const Coordinates& names, std::size_t rank, StageDiff& diff);

}  // namespace moediff
