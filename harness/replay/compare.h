// Comparing values of a file with the reference's, one Check each.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/core/dtype.h"
#include "harness/replay/check.h"
#include "harness/replay/rules.h"

namespace moediff {

/// Rows (of the first dimension) that are compared; empty: all.
using Rows = std::vector<bool>;

struct Actual {
  std::span<const double> values;
  std::int64_t rows = 1;  ///< of equal length
  Rows compared = {};
  std::string note = {};
};

/// Numbers by a numeric rule. Values that are not finite must be the same: NaN where NaN is expected, the same
/// infinity. `steps` are those of `dtype`.
Check compare_values(const ExpectedTensor& expected, std::span<const double> values, const Actual& actual, Rule rule,
                     DType dtype = DType::bf16);

/// |actual - expected| against a bound of each element; one whose bound is infinite is not compared.
Check compare_bounded(const ExpectedTensor& expected, std::span<const double> values, const Actual& actual,
                      std::span<const double> bound);

/// Numbers that must be equal: signs of zeros included, any NaN for NaN.
Check compare_exactly(const ExpectedTensor& expected, std::span<const double> values, std::span<const double> actual);

/// Codes of `format`, byte by byte, any NaN code for a NaN code.
Check compare_codes(const ExpectedTensor& expected, std::span<const std::byte> codes, std::span<const std::byte> actual,
                    DType format);

}  // namespace moediff
