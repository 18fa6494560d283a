// Bounds of fp32 accumulation: deterministic (Higham), probabilistic (Hoeffding, Higham & Mary), and the exact case.
#include "harness/compare/bounds/accumulation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/interval.h"

namespace moediff::bounds {
namespace {

constexpr int kZerosOnly = 1 << 20;
constexpr int kNoGrid = -(1 << 20);
constexpr int kSmallestGrid = -149, kLargestGrid = 103;  // of fp32: the last bit of the least and of the largest number

}  // namespace

Delta no_claim() { return {INFINITY, INFINITY}; }

double half_ulp(DType dtype, double value) {
  if (value == 0) return half_smallest(dtype);
  return std::max(unit_roundoff(dtype) * std::ldexp(1.0, std::ilogb(value)), half_smallest(dtype));
}

double gamma(std::int64_t n, double unit_roundoff) {
  const double nu = static_cast<double>(n) * unit_roundoff;
  return nu < 1 ? nu / (1 - nu) : INFINITY;
}

Delta accumulation_error(double sum_abs, double sum_sq_partial, std::int64_t steps, double absolute) {
  const double statistical = statistical_factor() * kU32 * std::sqrt(sum_sq_partial) + absolute;
  const double hard = gamma(steps, kU32) * sum_abs + absolute;
  // For short sums the worst case lies below lambda standard widths; "certain" must still imply "failed".
  return {statistical, std::max(hard, statistical)};
}

double reference_error(double sum_abs, std::int64_t terms) { return gamma(terms + 1, kU64) * sum_abs; }

bool may_overflow(double magnitude) { return !(magnitude < largest(DType::f32)); }

int grid_exponent(double value) {
  if (!std::isfinite(value)) return kNoGrid;
  if (value == 0) return kZerosOnly;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const auto digits = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  return exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(digits));
}

int grid_exponent(std::span<const double> values) {
  int grid = kZerosOnly;
  for (const double value : values) grid = std::min(grid, grid_exponent(value));
  return grid;
}

bool accumulates_exactly(double sum_abs, std::int64_t grid, double underflow) {
  if (sum_abs == 0) return true;
  if (grid < kSmallestGrid) return false;
  const int bounded = static_cast<int>(std::min<std::int64_t>(grid, kLargestGrid));
  return sum_abs <= std::ldexp(1.0, bounded + 24) && 2 * underflow <= std::ldexp(1.0, bounded);
}

}  // namespace moediff::bounds
