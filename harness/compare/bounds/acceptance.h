// Which results are acceptable: for each element the set of values that a right computation can store.
//
// A final rounding to the output's dtype is not added to the error but carried out: the stored value must be round(t)
// for some t within the error of the double value (architecture §5, level 1). Stages with two roundings carry the
// interval through both.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/compare/bounds/accumulation.h"
#include "harness/compare/bounds/interval.h"
#include "harness/model/rounding.h"

namespace moediff::bounds {

/// Expected elements of one output, with what is needed to say which actual ones are acceptable.
struct Acceptance {
  RoundingRow::Form form = RoundingRow::Form::exact;
  DType dtype = DType::f32;    ///< of the stored output
  std::vector<double> value;   ///< expected, unrounded
  std::vector<Delta> delta;    ///< error before the (first) rounding; empty for exact forms
  std::vector<double> inner;   ///< what is rounded first: silu_mul silu(gate), scale_add factor * routed; else empty
  std::vector<double> second;  ///< silu_mul: up; scale_add: the shared output, empty when there is none
};

enum class Level { statistical, hard };

/// Values acceptable for element i when the error is `theta` times the bound of `level`. Monotone in theta.
Interval acceptable(const Acceptance& expected, std::size_t i, double theta, Level level);

/// Smallest theta (statistical) at which `actual` is acceptable: the share of the error budget it used. 0 when it is
/// the rounding of the double value, at most kBudgetCap.
double budget_used(const Acceptance& expected, std::size_t i, double actual);

}  // namespace moediff::bounds
