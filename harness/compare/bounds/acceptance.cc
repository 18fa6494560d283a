// Interval arithmetic through the roundings of each form of kRoundings; the budget by bisection, as the set grows with
// theta.
#include "harness/compare/bounds/acceptance.h"

#include <cmath>

#include "harness/compare/bounds/constants.h"

namespace moediff::bounds {
namespace {

using Form = RoundingRow::Form;

/// fp32 accumulators stay as they are in an fp32 output: their last rounding is one of the accumulation's own.
Interval stored(DType dtype, Interval accumulated) {
  return dtype == DType::f32 ? accumulated : rounded(dtype, accumulated);
}

/// One fp32 operation with its exact result known, then the store.
Interval single_operation(DType dtype, Interval exact, double theta) {
  const Interval in_fp32 = rounded(DType::f32, exact);
  const double slack = theta * kSingleOperation * std::max(std::fabs(exact.lo), std::fabs(exact.hi)) + theta * kTiny32;
  return rounded(dtype, widened(in_fp32, slack));
}

Interval scale_add(const Acceptance& expected, std::size_t i, double theta) {
  const double product = expected.inner[i];
  const Interval scaled_routed = single_operation(expected.dtype, {product, product}, theta);
  if (expected.second.empty()) return scaled_routed;
  return single_operation(expected.dtype, shifted(scaled_routed, expected.second[i]), theta);
}

/// The product of two bf16 is exact in fp32, that of two fp32 is exact in double: one rounding, carried out.
Interval silu_mul(const Acceptance& expected, std::size_t i, double delta) {
  const double silu = expected.inner[i];
  const Interval stored_silu = rounded(expected.dtype, widened({silu, silu}, delta));
  return rounded(expected.dtype, scaled(stored_silu, expected.second[i]));
}

}  // namespace

Interval acceptable(const Acceptance& expected, std::size_t i, double theta, Level level) {
  const double value = expected.value[i];
  const Delta bound = expected.delta.empty() ? Delta{} : expected.delta[i];
  const double delta = theta * (level == Level::hard ? bound.hard : bound.statistical);
  switch (expected.form) {
    case Form::dot:
    case Form::weighted:
    case Form::weights:
      return stored(expected.dtype, widened({value, value}, delta));
    case Form::silu_mul:
      return silu_mul(expected, i, delta);
    case Form::scale_add:
      return scale_add(expected, i, theta);
    case Form::add:
      return single_operation(expected.dtype, {value, value}, theta);
    case Form::selection:
    case Form::exact:
      break;
  }
  return {value, value};
}

double budget_used(const Acceptance& expected, std::size_t i, double actual) {
  const auto inside = [&](double theta) { return acceptable(expected, i, theta, Level::statistical).contains(actual); };
  if (inside(0)) return 0;
  if (!inside(kBudgetCap)) return kBudgetCap;
  double low = 0, high = 1;
  while (high < kBudgetCap && !inside(high)) {
    low = high;
    high = std::min(2 * high, kBudgetCap);
  }
  for (int step = 0; step < 30; ++step) {
    const double middle = (low + high) / 2;
    (inside(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace moediff::bounds
