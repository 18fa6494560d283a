// Quantisations of activations: scales by their exact set, codes given the scale that the candidate itself stored, so
// that a wrong scale is reported at the scale and not again at every code.
#pragma once

#include <span>
#include <vector>

#include "harness/compare/diff.h"
#include "harness/compare/stage.h"
#include "harness/run/run.h"

namespace moediff {

bool is_quantisation(OpKind op);

/// What codes of `x` [rows, columns] are right for stored `scales`. `errors` of x: empty = none. `right`, by scale: is
/// it a right one (then ScaleBy::ratio may go by the largest magnitude instead)? Empty: all are.
bounds::Acceptance code_acceptance(std::span<const double> x, std::vector<bounds::Delta> errors,
                                   std::span<const double> scales, const std::vector<bool>& right, std::int64_t rows,
                                   std::int64_t columns, const QuantSpec& spec);
/// What scales are right for x.
bounds::Acceptance scale_acceptance(std::span<const double> x, std::span<const bounds::Delta> errors, std::int64_t rows,
                                    std::int64_t columns, const QuantSpec& spec);

/// Diffs of codes and scales. `result`: of the same inputs.
std::vector<StageDiff> compare_quantisation(const Program& program, const Run& run, int step, DiffMode mode,
                                            const StageResult& result);

}  // namespace moediff
