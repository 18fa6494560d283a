// The outputs against the chained evaluation: the bound is the error of all the candidate's roundings together.
#include "harness/compare/chained.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/compare/dataflow.h"
#include "harness/compare/elements.h"
#include "harness/compare/stage_diff.h"

namespace moediff {
namespace {

/// The store is part of the propagated error already: nothing is left to round.
bounds::Acceptance acceptance_of(const bounds::Uncertain& numbers) {
  bounds::Acceptance expected;
  expected.form = RoundingRow::Form::dot;
  expected.dtype = DType::f32;
  expected.value = numbers.value;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double statistical = bounds::statistical_bound(numbers, i), hard = std::max(statistical, numbers.hard[i]);
    const bool claims = !std::isfinite(numbers.value[i]) || std::isfinite(hard);
    expected.delta.push_back(claims ? bounds::Delta{statistical, hard} : bounds::no_claim());
  }
  return expected;
}

/// max |actual - expected| / max |expected| over all outputs.
double worst_relative(const std::vector<double>& expected, const std::vector<double>& actual) {
  double worst = 0, scale = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(actual[i] - expected[i]);
    worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
    scale = std::max(scale, std::fabs(expected[i]));
  }
  return scale > 0 ? worst / scale : worst;
}

void append(std::vector<double>& all, const std::vector<double>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

}  // namespace

void compare_chained(const Program& program, const Run& run, Expected& expected, const std::map<int, bool>& legitimate,
                     Diff& diff) {
  Dataflow dataflow(program, run, expected, legitimate);
  for (const int output : program.outputs) {
    const Origin from = origin(program, output);
    const std::optional<Field> field = dataflow.value(output);
    if (!field || from.step < 0) continue;
    const bounds::Acceptance acceptance = acceptance_of(*field->numbers);
    StageDiff stage = compare_output(program, run, from.step, from.operand, DiffMode::chained, acceptance);
    stage.flippable = field->numbers->flippable;
    if (stage.not_comparable.empty()) {
      append(diff.output_expected, acceptance.value);
      append(diff.output_actual,
             to_doubles(program.values[output].dtype, captured(program, run, from.step, from.operand)));
      for (const bounds::Delta& delta : acceptance.delta) diff.output_bound.push_back(delta.statistical);
    }
    diff.stages.push_back(std::move(stage));
  }
  diff.worst_chained = worst_relative(diff.output_expected, diff.output_actual);
}

}  // namespace moediff
