// Errors of the router's scores and weights and of silu, all evaluated in fp32.
#pragma once

#include <cstdint>

namespace moediff::bounds {

/// |fp32 sigmoid(logit) - score|, for the exact score of the same fp32 logit.
double sigmoid_error(double logit, double score);
/// |fp32 silu(gate) - silu|.
double silu_error(double gate, double silu);
/// Of score + bias: the score's error and one addition.
double choice_error(double logit, double score, double choice);
/// Of the sum of the two largest choices: both errors and one addition. `largest_choice_error`: the largest in the
/// group (a near-tie inside the group may swap which experts are summed, but moves the sum by no more than that).
double group_score_error(double largest_choice_error, double group_score);
/// Relative error of a routing weight: score, sum of `top_k` positive scores, division, factor.
double weight_relative_error(std::int64_t top_k, bool normalised);
/// The same as the root of the sum of squares of its roundings, for the statistical propagation.
double weight_relative_spread(std::int64_t top_k, bool normalised);

}  // namespace moediff::bounds
