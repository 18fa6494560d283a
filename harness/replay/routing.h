// The experts and weights that one oracle's results are computed with, and the check of the experts themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/replay/check.h"
#include "harness/replay/compare.h"
#include "reference/api.h"

namespace moediff {

/// Two scores whose difference is below this share of the larger scale (or of 1) count as a tie: in float64 what the
/// files' own `diag.tie_rows` mean; what float32 scores cannot tell apart; what bfloat16 scores cannot.
double tie_tolerance(const std::string& precision);

/// What all oracles of a file share: the logits in double.
struct RouterInputs {
  std::vector<double> logits, bias;  ///< [T, E]; [E] or empty
  std::int64_t tokens = 0;
  std::vector<bool> stated_ties;  ///< rows in which the file says that the choice is a tie
};

/// The routing of one oracle in one precision.
struct RouterResult {
  std::vector<std::int32_t> ids;  ///< [T, k]: the expected ones where they are allowed, otherwise the reference's
  std::vector<double> weights;    ///< [T, k], of ids
  Rows decided;                   ///< rows in which no other experts are allowed, or whose experts are known
  Rows sole;                      ///< rows in which the scores allow no other set
  Rows holds;                     ///< rows whose sum of scores this precision can hold
  std::optional<Check> check;     ///< when ids were expected
};

/// `ids` [T, k] as expected, or empty.
RouterResult route_as(const RouterInputs& inputs, const reference::RouterConfig& config, const ExpectedTensor& expected,
                      std::span<const std::int32_t> ids);

}  // namespace moediff
