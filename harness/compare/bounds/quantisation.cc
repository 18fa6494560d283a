// Each step is monotone, so it is carried out in fp32 on both ends; only then come the neighbours.
#include "harness/compare/bounds/quantisation.h"

#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/constants.h"

namespace moediff::bounds {
namespace {

double to_f32(double value) { return round_to(DType::f32, value); }
double fmax_of(const QuantSpec& spec) { return to_f32(spec.fmax); }

/// `ulps` units in the last place of fp32 either way, times theta. Intervals are of fp32 numbers.
Interval by_ulps(Interval a, int ulps, double theta) {
  if (theta == 0 || ulps == 0 || !std::isfinite(a.lo) || !std::isfinite(a.hi)) return a;
  double lo = a.lo, hi = a.hi;
  for (int i = 0; i < ulps; ++i) {
    lo = next_down(DType::f32, lo);
    hi = next_up(DType::f32, hi);
  }
  return {a.lo - theta * (a.lo - lo), a.hi + theta * (hi - a.hi)};
}

double up_to_power(double scale) {
  if (!std::isfinite(scale) || scale <= 0) return scale;
  const double power = std::ldexp(1.0, std::ilogb(scale));
  return to_f32(power == scale ? power : 2 * power);
}

double code_of(double quotient, const QuantSpec& spec) {
  if (row(spec.scheme).weight == CodeFormat::fp8) return round_to(spec.fp8_dtype(), quotient);
  return spec.half_to == HalfTo::away ? std::round(quotient) : std::nearbyint(quotient);
}

}  // namespace

double floored(double amax, const QuantSpec& spec) { return std::max(amax, to_f32(spec.amax_floor)); }

bool is_power_of_two(double value) {
  return value > 0 && std::isfinite(value) && value == std::ldexp(1.0, std::ilogb(value));
}

double ieee_scale(double amax, const QuantSpec& spec) {
  const double fmax = fmax_of(spec), largest = floored(amax, spec);
  const double scale =
      spec.scale_from == ScaleFrom::division ? to_f32(largest / fmax) : to_f32(largest * to_f32(1 / fmax));
  return spec.scales == ScaleKind::ue8m0 ? up_to_power(scale) : scale;
}

Interval scale_set(Interval amax, const QuantSpec& spec, double theta) {
  QuantSpec plain = spec;
  plain.scales = ScaleKind::fp32;
  const Interval ieee{ieee_scale(std::max(amax.lo, 0.0), plain), ieee_scale(amax.hi, plain)};
  const bool exact = is_power_of_two(fmax_of(spec));
  const int ulps = exact ? 0 : spec.scale_from == ScaleFrom::division ? kDivisionUlps : kReciprocalUlps;
  Interval scale = by_ulps(ieee, ulps, theta);
  if (spec.scales == ScaleKind::fp32) return scale;
  const auto by_log = [&](double s) { return s > 0 ? theta * kLog2Relative * std::fabs(std::log2(s)) * s : 0; };
  scale = {scale.lo - by_log(scale.lo), scale.hi + by_log(scale.hi)};
  return {up_to_power(scale.lo), up_to_power(scale.hi)};
}

Interval ratio_set(Interval amax, const QuantSpec& spec, double theta) {
  const double fmax = fmax_of(spec);
  const auto ratio = [&](double a) { return to_f32(fmax / floored(std::max(a, 0.0), spec)); };
  return by_ulps({ratio(amax.hi), ratio(amax.lo)}, kDivisionUlps, theta);
}

Interval quotient_set(Interval x, const Divisor& divisor, const QuantSpec& spec, double theta) {
  if (spec.scale_by == ScaleBy::ratio) {
    const Interval a = scaled(x, divisor.ratio.lo), b = scaled(x, divisor.ratio.hi);
    return rounded(DType::f32, {std::min(a.lo, b.lo), std::max(a.hi, b.hi)});
  }
  const double scale = divisor.scale;
  if (scale == 0) return point(0);
  const bool exact = is_power_of_two(std::fabs(scale));  // then quotient and product are as well, however computed
  if (spec.scale_by == ScaleBy::division) {
    const Interval exact_quotient =
        scale < 0 ? Interval{x.hi / scale, x.lo / scale} : Interval{x.lo / scale, x.hi / scale};
    return by_ulps(rounded(DType::f32, exact_quotient), exact ? 0 : kDivisionUlps, theta);
  }
  return by_ulps(rounded(DType::f32, scaled(x, to_f32(1 / scale))), exact ? 0 : kReciprocalUlps, theta);
}

Interval code_set(Interval quotient, const QuantSpec& spec) {
  const double fmax = fmax_of(spec);
  const auto code = [&](double q) { return code_of(std::clamp(q, -fmax, fmax), spec); };
  return {code(quotient.lo), code(quotient.hi)};
}

bool divides(const Divisor& divisor, const QuantSpec& spec) {
  if (spec.scale_by == ScaleBy::ratio) return std::isfinite(divisor.ratio.hi);
  if (!std::isfinite(divisor.scale)) return false;
  return spec.scale_by == ScaleBy::division || divisor.scale == 0 || std::isfinite(to_f32(1 / divisor.scale));
}

double code_step(double code, const QuantSpec& spec) {
  if (row(spec.scheme).weight != CodeFormat::fp8) return 1;
  return 2 * half_ulp(spec.fp8_dtype(), code);
}

}  // namespace moediff::bounds
