// Which results are acceptable: for each element the set of values that a right computation can store.
//
// A final rounding to the output's dtype is not added to the error but carried out: the stored value must be round(t)
// for some t within the error of the double value (architecture §5, level 1). Stages with several roundings carry the
// interval through all of them.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/compare/bounds/accumulation.h"
#include "harness/compare/bounds/interval.h"
#include "harness/model/quant.h"
#include "harness/model/rounding.h"

namespace moediff::bounds {

/// Expected elements of one output, with what is needed to say which actual ones are acceptable.
struct Acceptance {
  RoundingRow::Form form = RoundingRow::Form::exact;
  DType dtype = DType::f32;   ///< of the stored output
  std::vector<double> value;  ///< expected; unrounded, but for scales and codes, which are those of IEEE arithmetic
  std::vector<Delta> delta;   ///< error before the (first) rounding; empty: none
  /// What the value is made of, by form:
  ///   gated        inner f(gate), second h(up)
  ///   scale_add    inner factor * routed, second the shared output (empty: there is none)
  ///   rounded_sum  inner the terms weight * x, `terms` of them an element
  ///   weights      inner and second the ends of the interval, `kept` the dtype that the policy rounds to
  ///   scale        inner the largest magnitude; its error is delta
  ///   code         inner x, second the scale, or with ScaleBy::ratio fmax / amax (third: its upper end)
  std::vector<double> inner, second, third;
  std::size_t terms = 1;
  DType kept = DType::f32;
  QuantSpec quant;
};

enum class Level { statistical, hard };

/// Can anything be said about element i?
bool has_claim(const Acceptance& expected, std::size_t i);
/// Values acceptable for element i when the error is `theta` times the bound of `level`. Monotone in theta.
Interval acceptable(const Acceptance& expected, std::size_t i, double theta, Level level);
/// Is `actual` in that set? A power-of-two scale must be a power of two besides.
bool accepts(const Acceptance& expected, std::size_t i, double actual, double theta, Level level);

/// Smallest theta (statistical) at which `actual` is acceptable: the share of the error budget it used. 0 when it is
/// the rounding of the double value, at most kBudgetCap.
double budget_used(const Acceptance& expected, std::size_t i, double actual);

/// Was no error allowed before the roundings that every right computation makes? Then the comparison is exact.
bool is_exact(const Acceptance& expected, std::size_t i);

/// |actual - what was to be rounded| over its statistical expectation, sqrt((bound / lambda)^2 + half ulps of the
/// roundings^2): about 0.3 to 0.7 for a right result, whose error is spread over its possible range. 0 when exact.
double error_ratio(const Acceptance& expected, std::size_t i, double actual);

}  // namespace moediff::bounds
