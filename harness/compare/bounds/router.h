// The router's scores and weights as intervals: what fp32 evaluation, and the roundings that the policy names, can make
// of given logits. A rounding to the model dtype is carried out on both ends, so that an fp32 error that may flip it
// shows as two values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/compare/bounds/interval.h"
#include "reference/api.h"

namespace moediff::bounds {

/// Of one token.
struct TokenScores {
  std::vector<Interval> fresh;   ///< score, not rounded by the policy [experts]
  std::vector<Interval> score;   ///< as the policy keeps it
  std::vector<Interval> choice;  ///< score + bias as kept; NaN counts as -inf
  std::vector<Interval> group;   ///< group scores [n_group]
};

/// The bias as it is added: rounded where the policy says so; zeros where there is none.
std::vector<double> kept_bias(std::span<const double> bias, const reference::RouterConfig& config);

/// Scores of token `token` of `routing`, which was made of `logits` [tokens, experts]. `reach` [tokens, experts]: how
/// far the logits themselves may be off; empty: not at all.
TokenScores token_scores(const reference::Routing& routing, std::span<const double> logits,
                         std::span<const double> reach, std::int64_t token, std::span<const double> kept_bias,
                         const reference::RouterConfig& config);

/// Error of fp32 scores of one row of logits with the given exact scores.
std::vector<double> score_errors(std::span<const double> logits, std::span<const double> exact, Scoring scoring);

/// Weights of the chosen experts, before the rounding of policy.weights_in. An interval without bounds where the sum
/// that they are divided by may be 0.
std::vector<Interval> weight_intervals(const TokenScores& scores, std::span<const std::int32_t> ids,
                                       std::span<const double> kept_bias, const reference::RouterConfig& config);

}  // namespace moediff::bounds
