// The step that every stage of the propagation takes: one more rounding.
#pragma once

#include <cstddef>

#include "harness/compare/bounds/propagation.h"

namespace moediff::bounds {

inline double square(double x) { return x * x; }

Uncertain zeros(std::size_t size);
/// Adds one rounding of a value near `rounded_value` to element i, scaled by what it is multiplied with downstream.
/// Near the largest number of the dtype nothing can be said any more.
void add_rounding(Uncertain& x, std::size_t i, DType dtype, double rounded_value, double factor);
/// The same, unless the value is known exactly and the dtype holds it: exact data stay exact.
void add_rounding_unless_held(Uncertain& x, std::size_t i, DType dtype, double rounded_value);

}  // namespace moediff::bounds
