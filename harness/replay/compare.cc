#include "harness/replay/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/check.h"
#include "harness/core/formats.h"
#include "harness/core/text.h"

namespace moediff {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Difference of two values; 0 where both are the same non-finite one, infinite where only one is.
double difference(double actual, double expected) {
  if (std::isfinite(actual) && std::isfinite(expected)) return std::abs(actual - expected);
  return same(actual, expected) ? 0 : kInfinity;
}

/// Distance from `value` to its neighbour of larger magnitude in `dtype`.
double step(DType dtype, double value) {
  const double magnitude = std::abs(round_to(dtype, value));
  return magnitude == largest(dtype) ? magnitude - next_down(dtype, magnitude) : next_up(dtype, magnitude) - magnitude;
}

std::string at(std::size_t index, std::int64_t columns, double expected, double actual) {
  const auto i = static_cast<std::int64_t>(index);
  return "worst at [" + std::to_string(i / columns) + ", " + std::to_string(i % columns) + "]: expected " +
         short_number(expected, 9) + ", computed " + short_number(actual, 9);
}

void append(std::string& note, const std::string& text) {
  if (!text.empty()) note += (note.empty() ? "" : "; ") + text;
}

Check begin(const ExpectedTensor& expected, Rule rule) {
  Check check;
  check.name = expected.name;
  check.expected = expected.tensor;
  check.limit = rule.limit;
  check.rule = kMeasureTexts[static_cast<std::size_t>(rule.measure)];
  if (rule.stated) check.note = "the file states this limit";
  return check;
}

/// One pass over the compared elements.
struct Sums {
  std::int64_t compared = 0;
  double largest_expected = 0, largest_difference = 0, squares = 0, squared_differences = 0, largest_scaled = 0;
  std::size_t worst = 0;
};

template <typename Scale>
Sums sum_up(std::span<const double> expected, const Actual& actual, Scale&& scale) {
  Sums sums;
  const std::int64_t columns = std::max<std::int64_t>(1, static_cast<std::int64_t>(expected.size()) / actual.rows);
  double worst = -1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!actual.compared.empty() && !actual.compared[i / static_cast<std::size_t>(columns)]) continue;
    const double unit = scale(i);
    if (std::isinf(unit)) continue;  // a bound that claims nothing
    const double off = difference(actual.values[i], expected[i]);
    const double share = off == 0 || std::isinf(off) ? off : off / unit;
    const double scaled = std::isnan(share) ? INFINITY : share;  // a comparison that cannot be made has failed
    ++sums.compared;
    if (std::isfinite(expected[i])) {
      sums.largest_expected = std::max(sums.largest_expected, std::abs(expected[i]));
      sums.squares += expected[i] * expected[i];
    }
    sums.largest_difference = std::max(sums.largest_difference, off);
    sums.squared_differences += off * off;
    sums.largest_scaled = std::max(sums.largest_scaled, scaled);
    if (scaled > worst) worst = scaled, sums.worst = i;
  }
  return sums;
}

/// a / b, with 0 / 0 = 0: all expected values are 0, and so are ours.
double ratio(double a, double b) { return a == 0 ? 0 : a / b; }

Check finish(Check check, const Sums& sums, double measured, std::span<const double> expected, const Actual& actual) {
  check.compared = sums.compared;
  check.measured = measured;
  check.pass = check.compared > 0 && measured <= check.limit;
  append(check.note, actual.note);
  if (!check.pass && check.compared > 0) {
    const std::int64_t columns = std::max<std::int64_t>(1, static_cast<std::int64_t>(expected.size()) / actual.rows);
    append(check.note, at(sums.worst, columns, expected[sums.worst], actual.values[sums.worst]));
  }
  return check;
}

}  // namespace

Check compare_values(const ExpectedTensor& expected, std::span<const double> values, const Actual& actual, Rule rule,
                     DType dtype) {
  CHECK(values.size() == actual.values.size(), "expected and computed values have one shape");
  const bool steps = rule.measure == Measure::steps;
  const Sums sums = sum_up(values, actual, [&](std::size_t i) { return steps ? step(dtype, values[i]) : 1.0; });
  double measured = sums.largest_scaled;
  if (rule.measure == Measure::of_largest) measured = ratio(sums.largest_difference, sums.largest_expected);
  if (rule.measure == Measure::relative_l2) measured = std::sqrt(ratio(sums.squared_differences, sums.squares));
  return finish(begin(expected, rule), sums, measured, values, actual);
}

Check compare_bounded(const ExpectedTensor& expected, std::span<const double> values, const Actual& actual,
                      std::span<const double> bound) {
  CHECK(values.size() == actual.values.size() && values.size() == bound.size(), "one bound an element");
  const Sums sums = sum_up(values, actual, [&](std::size_t i) { return bound[i]; });
  Check check = begin(expected, kWithinBound);
  check.name += " within bound";
  return finish(std::move(check), sums, sums.largest_scaled, values, actual);
}

Check compare_exactly(const ExpectedTensor& expected, std::span<const double> values, std::span<const double> actual) {
  CHECK(values.size() == actual.size(), "expected and computed values have one shape");
  Check check = begin(expected, kExactly);
  check.compared = static_cast<std::int64_t>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (same(values[i], actual[i])) continue;
    if (check.measured == 0)
      check.note = "first at element " + std::to_string(i) + ": expected " + short_number(values[i], 9) +
                   ", computed " + short_number(actual[i], 9);
    ++check.measured;
  }
  check.pass = check.compared > 0 && check.measured == 0;
  return check;
}

Check compare_codes(const ExpectedTensor& expected, std::span<const std::byte> codes, std::span<const std::byte> actual,
                    DType format) {
  CHECK(codes.size() == actual.size(), "expected and computed codes have one shape");
  const auto is_nan = [&](std::byte code) { return std::isnan(decode(format, std::to_integer<std::uint32_t>(code))); };
  Check check = begin(expected, kExactly);
  check.compared = static_cast<std::int64_t>(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == actual[i] || (is_nan(codes[i]) && is_nan(actual[i]))) continue;
    if (check.measured == 0)
      check.note = "first at element " + std::to_string(i) + ": expected code " +
                   std::to_string(std::to_integer<int>(codes[i])) + ", computed " +
                   std::to_string(std::to_integer<int>(actual[i]));
    ++check.measured;
  }
  check.pass = check.compared > 0 && check.measured == 0;
  return check;
}

}  // namespace moediff
