// Codes and scales in the error propagation. A code that its error cannot move is exact: quantisation takes small
// errors away. Where the error may carry the quotient over a boundary ("flippable"), code * scale moves by the error
// itself and by the difference of two roundings, at most one step.
#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/propagation.h"
#include "harness/compare/bounds/propagation_rounding.h"
#include "harness/compare/bounds/quantisation.h"

namespace moediff::bounds {
namespace {

/// The group of each element, and how many there are.
struct Grouping {
  std::vector<std::size_t> of;
  std::size_t count = 0;
};

Grouping group_elements(std::int64_t rows, std::int64_t columns, std::size_t count, const QuantSpec& spec) {
  std::vector<double> indices(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = static_cast<double>(i);
  const std::vector<double> of = reference::spread_scales(indices, rows, columns, reference::scale_groups(spec));
  return {{of.begin(), of.end()}, count};
}

/// Largest magnitude of a group: any element that its error may lift there can be it.
struct Largest {
  double value = 0, certain = 0, squares = 0, hard = 0;  ///< certain: the largest lower end
};

std::vector<Largest> largest_of_groups(const Uncertain& x, const Grouping& groups) {
  std::vector<Largest> out(groups.count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    Largest& group = out[groups.of[i]];
    const double m = std::fabs(x.value[i]);
    group.value = std::isnan(m) ? m : std::max(group.value, m);
    group.certain = std::max(group.certain, m - x.hard[i]);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    Largest& group = out[groups.of[i]];
    if (std::fabs(x.value[i]) + x.hard[i] < group.certain) continue;
    group.squares = std::max(group.squares, x.squares[i]);
    group.hard = std::max(group.hard, x.hard[i]);
  }
  return out;
}

/// A scale with its error; `shifts`: it may be another power of two.
struct Scale {
  double value = 0, squares = 0, hard = 0;
  double divisor = 0;  ///< x over it is the quotient: the scale, or with ScaleBy::ratio amax / fmax
  bool shifts = false, unknown = false;
};

Scale scale_of(const Largest& largest, const QuantSpec& spec) {
  Scale scale;
  const bool by_ratio = spec.scale_by == ScaleBy::ratio;
  scale.value = ieee_scale(largest.value, spec);
  scale.divisor = by_ratio ? floored(largest.value, spec) / spec.fmax : scale.value;
  const bool no_quotient = scale.divisor == 0 && largest.hard > 0;
  scale.unknown = !std::isfinite(scale.value) || !std::isfinite(largest.hard) || no_quotient;
  if (scale.unknown) return scale;
  const double bound = statistical_factor() * std::sqrt(largest.squares);
  if (spec.scales == ScaleKind::ue8m0) {
    scale.shifts = !scale_set(widened(point(largest.value), bound), spec, 1).is_point();
    // Codes that go by the ratio do not make up for a scale that is twice as large.
    if (scale.shifts && by_ratio) scale.squares = square(scale.hard = scale.value);
    return scale;
  }
  if (largest.value + bound > floored(0, spec)) {
    scale.squares = largest.squares / square(spec.fmax);
    scale.hard = largest.hard / spec.fmax;
  }
  scale.squares += square(2 * kU32 * scale.value);
  scale.hard += (2 * kReciprocalUlps + 1) * kU32 * scale.value + kTiny32;
  return scale;
}

/// Square of the relative error of what x is divided by.
double divisor_squares(const Largest& largest, const Scale& scale, const QuantSpec& spec) {
  const double rounding = square(2 * kReciprocalUlps * kU32);
  if (spec.scale_by != ScaleBy::ratio) return rounding + scale.squares / square(scale.value);
  return rounding + largest.squares / square(floored(largest.value, spec));
}

/// Quotient of x with its error in units of the code.
void code_element(const Uncertain& x, std::size_t i, const Largest& largest, const Scale& scale, const QuantSpec& spec,
                  Uncertain& codes) {
  if (scale.unknown || !std::isfinite(x.value[i]) || !std::isfinite(x.hard[i])) return make_no_claim(codes, i);
  if (scale.divisor == 0) return;
  const bool moves = scale.shifts && spec.scale_by != ScaleBy::ratio;
  const double q = x.value[i] / scale.divisor, own = x.squares[i] / square(scale.divisor);
  const bool exact = x.hard[i] == 0 && !moves && spec.scale_by != ScaleBy::ratio && is_power_of_two(scale.value);
  const double squares = exact ? 0 : own + square(q) * divisor_squares(largest, scale, spec);
  const Interval set = code_set(widened(point(q), statistical_factor() * std::sqrt(squares)), spec);
  if (set.is_point() && !moves) return;
  const double step = std::max(code_step(set.lo, spec), code_step(set.hi, spec)) * (moves ? 2 : 1);
  codes.squares[i] = own + square(step);
  codes.hard[i] = x.hard[i] / scale.divisor + step;
  ++codes.flippable;
}

}  // namespace

UncertainCodes quantise(const Uncertain& x, std::int64_t rows, std::int64_t columns, const QuantSpec& spec) {
  const reference::Quantised exact = reference::quantise(x.value, rows, columns, spec);
  UncertainCodes out{exact_values(exact.code), exact_values(exact.scale)};
  out.codes.flippable = x.flippable;
  const Grouping groups = group_elements(rows, columns, exact.scale.size(), spec);
  std::vector<Scale> scales;
  const std::vector<Largest> largest = largest_of_groups(x, groups);
  for (const Largest& group : largest) scales.push_back(scale_of(group, spec));
  for (std::size_t g = 0; g < scales.size(); ++g) {
    out.scales.squares[g] = scales[g].squares;
    out.scales.hard[g] = scales[g].hard;
    if (!scales[g].unknown) continue;
    out.scales.value[g] = 0;
    make_no_claim(out.scales, g);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    code_element(x, i, largest[groups.of[i]], scales[groups.of[i]], spec, out.codes);
    if (std::isinf(out.codes.squares[i])) out.codes.value[i] = 0;
  }
  return out;
}

}  // namespace moediff::bounds
