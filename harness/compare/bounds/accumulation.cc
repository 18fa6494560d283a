// Bounds of fp32 accumulation: deterministic (Higham), probabilistic (Hoeffding, Higham & Mary), and the exact case.
#include "harness/compare/bounds/accumulation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/compare/bounds/constants.h"

namespace moediff::bounds {
namespace {

constexpr int kZerosOnly = 1 << 20;
constexpr int kNoGrid = -(1 << 20);

/// Exponent of the lowest set bit of a non-zero finite double.
int lowest_bit(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const auto digits = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  return exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(digits));
}

}  // namespace

double gamma(std::int64_t n, double unit_roundoff) {
  const double nu = static_cast<double>(n) * unit_roundoff;
  return nu < 1 ? nu / (1 - nu) : INFINITY;
}

Delta accumulation_error(double sum_abs, double sum_sq_partial, std::int64_t steps) {
  // Near zero a rounding errs by an absolute amount instead: half the smallest subnormal a step.
  const double underflow = static_cast<double>(steps) * kTiny32;
  const double statistical = statistical_factor() * kU32 * std::sqrt(sum_sq_partial) + underflow;
  const double hard = gamma(steps, kU32) * sum_abs + underflow;
  // For short sums the worst case lies below lambda standard widths; "certain" must still imply "failed".
  return {statistical, std::max(hard, statistical)};
}

int grid_exponent(std::span<const double> values) {
  int grid = kZerosOnly;
  for (const double value : values) {
    if (!std::isfinite(value)) return kNoGrid;
    if (value != 0) grid = std::min(grid, lowest_bit(value));
  }
  return grid;
}

bool accumulates_exactly(double sum_abs, int grid_a, int grid_b) {
  if (sum_abs == 0) return true;
  const int grid = grid_a + grid_b;
  return grid >= -149 && sum_abs <= std::ldexp(1.0, std::min(grid, 103) + 24);
}

}  // namespace moediff::bounds
