// Closed intervals of reals under monotone operations: how an error travels through roundings.
#pragma once

#include <algorithm>
#include <cmath>

#include "harness/core/formats.h"

namespace moediff::bounds {

struct Interval {
  double lo = 0, hi = 0;
  bool contains(double value) const { return lo <= value && value <= hi; }
  bool is_point() const { return lo == hi; }
};

inline Interval point(double value) { return {value, value}; }
inline Interval widened(Interval a, double delta) { return {a.lo - delta, a.hi + delta}; }
/// Rounding is monotone: the image lies between the images of the ends.
inline Interval rounded(DType dtype, Interval a) { return {round_to(dtype, a.lo), round_to(dtype, a.hi)}; }
/// A negative factor turns the interval round.
inline Interval scaled(Interval a, double factor) {
  return factor < 0 ? Interval{a.hi * factor, a.lo * factor} : Interval{a.lo * factor, a.hi * factor};
}
inline Interval shifted(Interval a, double offset) { return {a.lo + offset, a.hi + offset}; }
inline Interval sum(Interval a, Interval b) { return {a.lo + b.lo, a.hi + b.hi}; }
/// |a|.
inline Interval magnitude(Interval a) {
  const double lo = std::fabs(a.lo), hi = std::fabs(a.hi);
  return {a.lo <= 0 && a.hi >= 0 ? 0.0 : std::min(lo, hi), std::max(lo, hi)};
}

/// Largest error of one rounding to `dtype` of a value near `value`: half a unit in its last place.
double half_ulp(DType dtype, double value);

}  // namespace moediff::bounds
