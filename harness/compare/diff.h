// The difference between expected and actual, per stage value; plain numbers for the judge and the reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/program/program.h"

namespace moediff {

enum class DiffMode : std::uint8_t {
  local,    ///< reference recomputed from the values the step was *meant* to read, as the candidate had produced them
  as_read,  ///< reference recomputed from the bytes the step really read; only for steps whose local diff fails
  chained,  ///< end to end from the case's inputs, given the candidate's routing
};
std::string_view to_string(DiffMode mode);

/// One element beyond its bound.
struct Mismatch {
  std::vector<std::int64_t> index;                               ///< in the value; first is the row
  std::int64_t token = -1, expert = -1, column = -1, slot = -1;  ///< by name, -1 = does not apply
  double expected = 0, actual = 0, bound = 0;
};

struct StageDiff {
  int step = -1;
  std::string stage;  ///< op name
  std::string value;  ///< value name
  int chunk = -1;
  DiffMode mode = DiffMode::local;
  std::int64_t compared = 0, nonzero = 0;  ///< elements about which something can be said; expected ones that are not
                                           ///< zero (integers: all)
  double max_abs = 0, max_rel = 0;  ///< max |actual - expected| over finite elements; the same over max |expected|
  double budget_used = 0;           ///< largest actual error / statistical bound; 1 is the limit
  /// Median of |actual - expected| over its statistical expectation (bounds::error_ratio), of elements not
  /// stored as 0: the quality of the bound.
  double error_ratio_median = 0;
  double sufficient_tolerance = 0;  ///< least t with |actual - expected| <= t + t |expected| for all finite elements
  bool exact = false;               ///< no error was allowed for any element, or the output is discrete (topk_ids)
  std::int64_t beyond_statistical = 0, beyond_hard = 0, not_finite = 0, near_ties = 0;
  std::int64_t flippable =
      0;  ///< codes that rounding may take either way; chained: upstream, in the bound with their step
  std::optional<Mismatch> worst;
  std::vector<Mismatch> mismatches;        ///< at most 4, worst first
  std::vector<std::int64_t> worst_tokens;  ///< at most 5, worst first
  std::vector<double> token_error;  ///< per token (of this chunk): max |actual-expected| / max|expected|; for the page
  bool routing_wrong = false;       ///< router: an expert was chosen that no rounding explains
  std::string
      not_comparable;  ///< why nothing was compared: "expert_offsets is not a partition of the rows"; "" otherwise
  bool failed() const { return beyond_statistical > 0 || not_finite > 0 || routing_wrong; }
};

/// All diffs of one run. The local ones decide; the chained one of the outputs decides too, within one layer.
struct Diff {
  std::vector<StageDiff> stages;
  double worst_chained = 0;  ///< max |actual - expected| / max |expected| of the case's outputs: the number printed in
                             ///< evidence; infinite when an output is not finite. Algebra mode: the share of the
                             ///< output's elements that differ
  std::vector<double> output_bound;  ///< chained statistical bound per output element (for fused ~ unfused)
  std::vector<double> output_expected, output_actual;  ///< algebra mode: doubles with the elements' bits
};

}  // namespace moediff
