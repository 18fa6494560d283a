// The largest magnitude of a group is an interval when its elements are: from the largest lower to the largest upper
// end.
#include "harness/compare/quantise_stage.h"

#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/quantisation.h"
#include "harness/compare/evaluation.h"
#include "harness/compare/stage_diff.h"

namespace moediff {
namespace {

using bounds::Acceptance;
using bounds::Delta;
using bounds::Interval;
using bounds::Level;

constexpr int kIn = 0, kCodes = 1, kScales = 2;  // operands of every quantisation

/// Index of each element's scale.
std::vector<std::size_t> scale_index(std::int64_t rows, std::int64_t columns, const QuantSpec& spec,
                                     std::size_t scales) {
  std::vector<double> indices(scales);
  for (std::size_t i = 0; i < scales; ++i) indices[i] = static_cast<double>(i);
  const std::vector<double> spread = reference::spread_scales(indices, rows, columns, reference::scale_groups(spec));
  return {spread.begin(), spread.end()};
}

/// By group: the largest magnitudes that elements within their errors can have.
std::vector<Interval> magnitudes(std::span<const double> x, std::span<const Delta> errors, double Delta::*level,
                                 std::span<const std::size_t> group, std::size_t groups) {
  std::vector<Interval> largest(groups);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = errors.empty() ? 0 : errors[i].*level;
    const Interval m = bounds::magnitude(bounds::widened(bounds::point(x[i]), error));
    Interval& so_far = largest[group[i]];
    const bool broken = std::isnan(so_far.lo) || std::isnan(x[i]);
    so_far = broken ? bounds::point(NAN) : Interval{std::max(so_far.lo, m.lo), std::max(so_far.hi, m.hi)};
  }
  return largest;
}

std::size_t scale_count(std::int64_t rows, std::int64_t columns, const QuantSpec& spec) {
  const reference::ScaleGroups groups = reference::scale_groups(spec);
  if (groups.whole) return 1;
  const std::int64_t per_row = groups.group == 0 ? 1 : (columns + groups.group - 1) / groups.group;
  return static_cast<std::size_t>(rows * per_row);
}

double reach(Interval set, double value) { return std::max(set.hi - value, value - set.lo); }

/// The code of IEEE arithmetic.
double ieee_code(const Acceptance& codes, std::size_t i) {
  return bounds::has_claim(codes, i) ? bounds::acceptable(codes, i, 0, Level::statistical).lo : NAN;
}

}  // namespace

bool is_quantisation(OpKind op) {
  return slots(op).size() == 3 && rounding_form(op, slots(op)[kCodes].name) == RoundingRow::Form::code;
}

Acceptance scale_acceptance(std::span<const double> x, std::span<const Delta> errors, std::int64_t rows,
                            std::int64_t columns, const QuantSpec& spec) {
  const std::size_t count = scale_count(rows, columns, spec);
  const std::vector<std::size_t> group = scale_index(rows, columns, spec, count);
  const auto exact = magnitudes(x, {}, &Delta::hard, group, count),
             statistical = magnitudes(x, errors, &Delta::statistical, group, count),
             hard = magnitudes(x, errors, &Delta::hard, group, count);
  Acceptance scales;
  scales.form = RoundingRow::Form::scale;
  scales.quant = spec;
  for (std::size_t g = 0; g < count; ++g) {
    const double amax = exact[g].hi;
    scales.inner.push_back(amax);
    scales.value.push_back(bounds::ieee_scale(amax, spec));
    const bool overflows = std::isfinite(amax) && bounds::may_overflow(hard[g].hi);
    scales.delta.push_back(overflows ? bounds::no_claim() : Delta{reach(statistical[g], amax), reach(hard[g], amax)});
  }
  return scales;
}

Acceptance code_acceptance(std::span<const double> x, std::vector<Delta> errors, std::span<const double> scales,
                           const std::vector<bool>& right, std::int64_t rows, std::int64_t columns,
                           const QuantSpec& spec) {
  const std::vector<std::size_t> group = scale_index(rows, columns, spec, scales.size());
  const std::vector<Interval> amax = magnitudes(x, errors, &Delta::statistical, group, scales.size());
  Acceptance codes;
  codes.form = RoundingRow::Form::code;
  codes.quant = spec;
  codes.inner.assign(x.begin(), x.end());
  codes.delta = std::move(errors);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = scales[group[i]];
    if (spec.scale_by != ScaleBy::ratio) {
      codes.second.push_back(scale);
      continue;
    }
    const bool by_scale = !right.empty() && !right[group[i]];
    const Interval ratio = by_scale ? bounds::point(1 / scale) : bounds::ratio_set(amax[group[i]], spec, 1);
    codes.second.push_back(ratio.lo);
    codes.third.push_back(ratio.hi);
  }
  codes.value.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) codes.value[i] = ieee_code(codes, i);
  return codes;
}

std::vector<StageDiff> compare_quantisation(const Program& program, const Run& run, int step, DiffMode mode,
                                            const StageResult& result) {
  const Step& call = program.steps[step];
  const Acceptance &scales = result.outputs[kScales], &expected = result.outputs[kCodes];
  std::vector<StageDiff> diffs{compare_output(program, run, step, kScales, mode, scales)};
  const std::vector<double> own = to_doubles(call.operands[kScales].dtype, captured(program, run, step, kScales));
  if (!diffs[0].not_comparable.empty()) {
    diffs.push_back(named_diff(program, step, kCodes, mode));
    diffs.back().not_comparable = "the scales were not captured as a whole";
    return diffs;
  }
  std::vector<bool> right;
  for (std::size_t g = 0; g < own.size(); ++g)
    right.push_back(!bounds::has_claim(scales, g) || bounds::accepts(scales, g, own[g], 1, Level::statistical));
  const Shape& shape = call.operands[kCodes].shape;
  Acceptance codes = code_acceptance(expected.inner, expected.delta, own, right, shape[0], shape[1], expected.quant);
  codes.dtype = expected.dtype;
  diffs.push_back(compare_output(program, run, step, kCodes, mode, codes));
  return diffs;
}

namespace {

void fill_outputs(Evaluation& e, std::span<const double> x, std::vector<Delta> errors) {
  const Shape& shape = e.step.operands[kCodes].shape;
  const QuantSpec& spec = e.step.params.quant;
  Acceptance &codes = e.output(slots(e.step.op)[kCodes].name), &scales = e.output(slots(e.step.op)[kScales].name);
  const DType dtype = codes.dtype;
  scales = scale_acceptance(x, errors, shape[0], shape[1], spec);
  codes = code_acceptance(x, std::move(errors), scales.value, {}, shape[0], shape[1], spec);
  codes.dtype = dtype;
}

}  // namespace

void evaluate_quantize(Evaluation& e) { fill_outputs(e, e.doubles(slots(e.step.op)[kIn].name), {}); }

void evaluate_activation_quantize(Evaluation& e) {
  const ActivationValues values = activation_values(e, slots(e.step.op)[kIn].name);
  fill_outputs(e, values.exact.value, values.product);
}

}  // namespace moediff
