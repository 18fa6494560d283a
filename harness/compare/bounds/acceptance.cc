// Interval arithmetic through the roundings of each form of kRoundings; the budget by bisection, as the set grows with
// theta.
#include "harness/compare/bounds/acceptance.h"

#include <cmath>
#include <limits>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/quantisation.h"

namespace moediff::bounds {
namespace {

using Form = RoundingRow::Form;

/// fp32 accumulators stay as they are in an fp32 output: their last rounding is one of the accumulation's own. Beyond
/// the largest number there is infinity alone.
Interval stored(DType dtype, Interval accumulated) {
  if (dtype != DType::f32) return rounded(dtype, accumulated);
  const Interval limits = rounded(DType::f32, accumulated);
  return {std::isinf(limits.lo) ? limits.lo : accumulated.lo, std::isinf(limits.hi) ? limits.hi : accumulated.hi};
}

/// One fp32 operation with its exact result known, then the store.
Interval single_operation(DType dtype, Interval exact, double theta) {
  const Interval in_fp32 = rounded(DType::f32, exact);
  const double slack = theta * kSingleOperation * std::max(std::fabs(exact.lo), std::fabs(exact.hi)) + theta * kTiny32;
  return rounded(dtype, widened(in_fp32, std::isfinite(slack) ? slack : 0));
}

Interval scale_add(const Acceptance& expected, std::size_t i, double theta) {
  const Interval scaled_routed = single_operation(expected.dtype, point(expected.inner[i]), theta);
  if (expected.second.empty()) return scaled_routed;
  return single_operation(expected.dtype, shifted(scaled_routed, expected.second[i]), theta);
}

/// The product of two numbers of 16 bits is exact in fp32 (unless subnormal), that of two fp32 is exact in double.
Interval gated(const Acceptance& expected, std::size_t i, double delta) {
  const Interval activated = rounded(expected.dtype, widened(point(expected.inner[i]), delta));
  return rounded(expected.dtype, rounded(DType::f32, scaled(activated, expected.second[i])));
}

/// ((p_0 + p_1) + p_2) …, each product and each sum in fp32, then rounded to the dtype.
Interval rounded_sum(const Acceptance& expected, std::size_t i, double theta) {
  Interval sum_so_far{};
  for (std::size_t j = i * expected.terms; j < (i + 1) * expected.terms; ++j) {
    const Interval term = single_operation(expected.dtype, point(expected.inner[j]), theta);
    const bool first = j == i * expected.terms;
    sum_so_far = first ? term : single_operation(expected.dtype, sum(sum_so_far, term), theta);
  }
  return sum_so_far;
}

Interval weights(const Acceptance& expected, std::size_t i, double theta) {
  const double value = expected.value[i];
  const Interval reached{value - theta * (value - expected.inner[i]), value + theta * (expected.second[i] - value)};
  return stored(expected.kept, reached);
}

Divisor divisor(const Acceptance& expected, std::size_t i) {
  if (expected.quant.scale_by == ScaleBy::ratio) return {1, {expected.second[i], expected.third[i]}};
  return {expected.second[i], {}};
}

Interval quotient(const Acceptance& expected, std::size_t i, double delta, double theta) {
  return quotient_set(widened(point(expected.inner[i]), delta), divisor(expected, i), expected.quant, theta);
}

double delta_of(const Acceptance& expected, std::size_t i, Level level) {
  const Delta bound = expected.delta.empty() ? Delta{} : expected.delta[i];
  return level == Level::hard ? bound.hard : bound.statistical;
}

double square(double x) { return x * x; }

/// Equal, the sign of zero included; any NaN is as good as another.
bool is_same_number(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

bool has_claim(const Acceptance& expected, std::size_t i) {
  if (expected.form == Form::weights) return std::isfinite(expected.inner[i]) && std::isfinite(expected.second[i]);
  if (expected.form == Form::scale)
    return std::isfinite(expected.inner[i]) && std::isfinite(delta_of(expected, i, Level::hard));
  if (expected.form == Form::code)
    return std::isfinite(expected.inner[i]) && std::isfinite(delta_of(expected, i, Level::hard)) &&
           divides(divisor(expected, i), expected.quant);
  return !std::isinf(delta_of(expected, i, Level::hard));  // NaN: from inputs that are not finite
}

Interval acceptable(const Acceptance& expected, std::size_t i, double theta, Level level) {
  const double value = expected.value[i], delta = theta * delta_of(expected, i, level);
  switch (expected.form) {
    case Form::dot:
    case Form::weighted:
      return stored(expected.dtype, widened(point(value), delta));
    case Form::gated:
      return gated(expected, i, delta);
    case Form::rounded_sum:
      return rounded_sum(expected, i, theta);
    case Form::scale_add:
      return scale_add(expected, i, theta);
    case Form::add:
    case Form::product:
      return single_operation(expected.dtype, point(value), theta);
    case Form::weights:
      return weights(expected, i, theta);
    case Form::scale:
      return scale_set(widened(point(expected.inner[i]), delta), expected.quant, theta);
    case Form::code:
      return code_set(quotient(expected, i, delta, theta), expected.quant);
    case Form::selection:
    case Form::convert:
    case Form::exact:
      break;
  }
  return point(value);
}

bool accepts(const Acceptance& expected, std::size_t i, double actual, double theta, Level level) {
  if (expected.form == Form::scale && expected.quant.scales == ScaleKind::ue8m0 && actual != 0 &&
      !is_power_of_two(actual))
    return false;
  if (expected.form == Form::convert) return is_same_number(expected.value[i], actual);
  return acceptable(expected, i, theta, level).contains(actual);
}

double budget_used(const Acceptance& expected, std::size_t i, double actual) {
  const auto inside = [&](double theta) { return accepts(expected, i, actual, theta, Level::statistical); };
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

bool is_exact(const Acceptance& expected, std::size_t i) {
  const auto held = [&](double value) { return round_to(expected.dtype, value) == value; };
  switch (expected.form) {
    case Form::dot:
    case Form::weighted:
      return delta_of(expected, i, Level::hard) == 0;
    case Form::scale_add:
      return held(expected.inner[i]) && held(expected.value[i]);
    case Form::add:
    case Form::product:
      return held(expected.value[i]);
    case Form::code:
      return delta_of(expected, i, Level::hard) == 0 && expected.quant.scale_by != ScaleBy::ratio &&
             (expected.second[i] == 0 || is_power_of_two(expected.second[i]));
    case Form::gated:
    case Form::rounded_sum:
    case Form::weights:
      return acceptable(expected, i, 1, Level::hard).is_point() && delta_of(expected, i, Level::hard) == 0;
    case Form::scale:  // one power of two, or either of two
      return expected.quant.scales == ScaleKind::ue8m0;
    case Form::selection:
    case Form::convert:
    case Form::exact:
      break;
  }
  return true;
}

namespace {

/// Sum of the squares of half a unit in the last place of every rounding of the form, and of the error before them.
double expected_square(const Acceptance& expected, std::size_t i) {
  const double spread = delta_of(expected, i, Level::statistical) / statistical_factor();
  const auto half = [&](double value) { return square(half_ulp(expected.dtype, value)); };
  switch (expected.form) {
    case Form::gated:
      return square(expected.second[i]) * (square(spread) + half(expected.inner[i])) + half(expected.value[i]);
    case Form::scale_add:
      return half(expected.inner[i]) + (expected.second.empty() ? 0 : half(expected.value[i]));
    case Form::rounded_sum: {
      double sum = 0, squares = 0;
      for (std::size_t j = i * expected.terms; j < (i + 1) * expected.terms; ++j) {
        sum += expected.inner[j];
        squares += half(expected.inner[j]) + half(sum);
      }
      return squares;
    }
    case Form::weights:
      return square((expected.second[i] - expected.inner[i]) / 2 / statistical_factor()) +
             square(half_ulp(expected.kept, expected.value[i]));
    case Form::scale: {
      const bool twice = expected.quant.scale_from == ScaleFrom::reciprocal;  // the reciprocal is rounded as well
      return square(spread / expected.quant.fmax) + square(half_ulp(DType::f32, expected.value[i])) +
             (twice ? square(kU32 * expected.value[i]) : 0);
    }
    case Form::code: {
      const Interval moved = quotient(expected, i, spread, 0);
      return square((moved.hi - moved.lo) / 2) + square(code_step(expected.value[i], expected.quant) / 2);
    }
    default:
      return square(spread) + half(expected.value[i]);
  }
}

/// What the form rounds.
double unrounded(const Acceptance& expected, std::size_t i) {
  if (expected.form == Form::scale && expected.quant.scales == ScaleKind::fp32)
    return floored(expected.inner[i], expected.quant) / expected.quant.fmax;
  if (expected.form != Form::code) return expected.value[i];
  const double exact = quotient(expected, i, 0, 0).lo, fmax = expected.quant.fmax;
  return std::clamp(exact, -fmax, fmax);
}

}  // namespace

double error_ratio(const Acceptance& expected, std::size_t i, double actual) {
  if (is_exact(expected, i)) return 0;
  const double error = std::fabs(actual - unrounded(expected, i));
  return error == 0 ? 0 : error / std::sqrt(expected_square(expected, i));
}

}  // namespace moediff::bounds
