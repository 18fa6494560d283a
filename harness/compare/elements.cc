// One pass over the elements. The error budget is found by bisection, so it is computed only for elements that raise
// the maximum so far; the worst mismatches are kept in a short sorted list.
#include "harness/compare/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/compare/bounds/constants.h"
#include "harness/core/check.h"

namespace moediff {
namespace {

using bounds::Acceptance;
using bounds::Interval;
using bounds::Level;

constexpr std::size_t kMismatches = 4, kWorstTokens = 5;

bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::u8 || dtype == DType::i64; }

/// Elements for reports. Those of the prime field are no reals: as near as a double comes.
std::vector<double> shown(DType dtype, std::span<const std::byte> bytes) {
  if (dtype != DType::field) return to_doubles(dtype, bytes);
  std::vector<double> numbers(bytes.size() / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint64_t element = 0;
    std::memcpy(&element, bytes.data() + i * sizeof(element), sizeof(element));
    numbers[i] = static_cast<double>(element);
  }
  return numbers;
}

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// How far beyond its bound: the order of "worst first".
double severity(const Mismatch& m) {
  if (!std::isfinite(m.actual)) return std::numeric_limits<double>::infinity();
  const double error = std::fabs(m.actual - m.expected);
  return m.bound > 0 ? error / m.bound : error * 1e30;
}

class Pass {
 public:
  Pass(const Coordinates& names, std::size_t rank, StageDiff& diff) : names_(names), rank_(rank), diff_(diff) {
    token_abs_.assign(static_cast<std::size_t>(names.tokens), 0);
    token_bad_.assign(static_cast<std::size_t>(names.tokens), false);
  }

  void see(std::size_t i, double expected, double actual) {
    if (std::isfinite(expected)) max_expected_ = std::max(max_expected_, std::fabs(expected));
    const double error = std::fabs(actual - expected);
    if (!std::isfinite(error)) return;
    diff_.max_abs = std::max(diff_.max_abs, error);
    diff_.sufficient_tolerance = std::max(diff_.sufficient_tolerance, error / (1 + std::fabs(expected)));
    const std::int64_t token = names_.token_of(i);
    if (token >= 0) token_abs_[token] = std::max(token_abs_[token], error);
  }

  void add_mismatch(std::size_t i, double expected, double actual, double bound) {
    Mismatch mismatch = names_.name(i, rank_);
    mismatch.expected = expected;
    mismatch.actual = actual;
    mismatch.bound = bound;
    if (const std::int64_t token = names_.token_of(i); token >= 0) {
      token_bad_[token] = true;
      if (!std::isfinite(actual)) token_abs_[token] = std::numeric_limits<double>::infinity();
    }
    const auto worse = [](const Mismatch& a, const Mismatch& b) { return severity(a) > severity(b); };
    std::vector<Mismatch>& kept = diff_.mismatches;
    if (kept.size() == kMismatches && !worse(mismatch, kept.back())) return;
    kept.insert(std::upper_bound(kept.begin(), kept.end(), mismatch, worse), std::move(mismatch));
    if (kept.size() > kMismatches) kept.pop_back();
  }

  void finish() {
    const double scale = max_expected_ > 0 ? max_expected_ : 1;
    diff_.max_rel = diff_.max_abs / scale;
    if (!diff_.mismatches.empty()) diff_.worst = diff_.mismatches.front();
    for (const double error : token_abs_) diff_.token_error.push_back(std::isfinite(error) ? error / scale : kWholly);
    std::vector<std::int64_t> bad;
    for (std::size_t t = 0; t < token_bad_.size(); ++t) {
      if (token_bad_[t]) bad.push_back(static_cast<std::int64_t>(t));
    }
    std::stable_sort(bad.begin(), bad.end(), [&](auto a, auto b) { return token_abs_[a] > token_abs_[b]; });
    if (bad.size() > kWorstTokens) bad.resize(kWorstTokens);
    for (const std::int64_t token : bad) diff_.worst_tokens.push_back(token + names_.first_token);
  }

 private:
  static constexpr double kWholly = 1.0;  // token_error of a token with a NaN or infinity: as large as the data
  const Coordinates& names_;
  std::size_t rank_;
  StageDiff& diff_;
  double max_expected_ = 0;
  std::vector<double> token_abs_;
  std::vector<bool> token_bad_;
};

/// Distance from the expected value to the farther end of the acceptable set.
double reach(const Acceptance& expected, std::size_t i) {
  const Interval set = bounds::acceptable(expected, i, 1, Level::statistical);
  return std::max(set.hi - expected.value[i], expected.value[i] - set.lo);
}

/// A result that is not finite where the double value is not: right, unless the form says exactly which one.
bool judge_not_finite(const Acceptance& expected, std::size_t i, double actual, StageDiff& diff) {
  const bool strict = expected.form == RoundingRow::Form::convert;
  if (strict ? bounds::accepts(expected, i, actual, 1, Level::hard) : !std::isfinite(actual)) return false;
  ++diff.beyond_statistical;
  ++diff.beyond_hard;
  return true;
}

/// True when the element fails. Inputs with NaN or infinity leave nothing to say about a result that has them too.
bool judge_element(const Acceptance& expected, std::size_t i, double actual, StageDiff& diff) {
  if (!std::isfinite(expected.value[i])) return judge_not_finite(expected, i, actual, diff);
  const auto within = [&](double theta, Level level) { return bounds::accepts(expected, i, actual, theta, level); };
  const bool within_used = within(diff.budget_used, Level::statistical);
  if (within_used && diff.budget_used <= 1) return false;
  if (!std::isfinite(actual) && !within(1, Level::statistical)) {
    ++diff.not_finite;
    return true;
  }
  if (!within_used) diff.budget_used = bounds::budget_used(expected, i, actual);
  if (within(1, Level::statistical)) return false;
  ++diff.beyond_statistical;
  if (!within(1, Level::hard)) ++diff.beyond_hard;
  return true;
}

/// Could a code be either of two?
bool is_flippable(const Acceptance& expected, std::size_t i) {
  return expected.form == RoundingRow::Form::code && !bounds::acceptable(expected, i, 1, Level::statistical).is_point();
}

}  // namespace

void compare_elements(const Acceptance& expected, std::span<const double> actual, const Coordinates& names,
                      std::size_t rank, StageDiff& diff) {
  CHECK(expected.value.size() == actual.size(), "expected and actual have the same elements");
  Pass pass(names, rank, diff);
  std::vector<double> ratios;
  diff.exact = true;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!bounds::has_claim(expected, i)) continue;
    ++diff.compared;
    if (expected.value[i] != 0 || is_integer(expected.dtype)) ++diff.nonzero;
    if (is_flippable(expected, i)) ++diff.flippable;
    pass.see(i, expected.value[i], actual[i]);
    if (std::isfinite(expected.value[i]) && !bounds::is_exact(expected, i)) {
      diff.exact = false;
      // A result stored as 0 tells how small the value is, not how well it was rounded.
      if (std::isfinite(actual[i]) && actual[i] != 0) ratios.push_back(bounds::error_ratio(expected, i, actual[i]));
    }
    if (judge_element(expected, i, actual[i], diff))
      pass.add_mismatch(i, expected.value[i], actual[i], reach(expected, i));
  }
  diff.error_ratio_median = median(ratios);
  pass.finish();
}

void compare_bits(DType dtype, std::span<const std::byte> expected, std::span<const std::byte> actual,
                  const Coordinates& names, std::size_t rank, StageDiff& diff) {
  CHECK(expected.size() == actual.size(), "expected and actual have the same bytes");
  const std::vector<double> expected_values = shown(dtype, expected), actual_values = shown(dtype, actual);
  const auto width = static_cast<std::size_t>(size_of(dtype));
  Pass pass(names, rank, diff);
  diff.exact = true;
  for (std::size_t i = 0; i < expected_values.size(); ++i) {
    ++diff.compared;
    if (expected_values[i] != 0 || is_integer(dtype)) ++diff.nonzero;
    pass.see(i, expected_values[i], actual_values[i]);
    if (std::memcmp(expected.data() + i * width, actual.data() + i * width, width) == 0) continue;
    diff.budget_used = bounds::kBudgetCap;
    ++diff.beyond_statistical;
    ++diff.beyond_hard;
    pass.add_mismatch(i, expected_values[i], actual_values[i], 0);
  }
  pass.finish();
}

}  // namespace moediff
