// First-order error analysis of the few fp32 operations behind a routing weight; constants and sources in constants.h.
#include "harness/compare/bounds/scores.h"

#include <cmath>

#include "harness/compare/bounds/constants.h"

namespace moediff::bounds {

double sigmoid_error(double logit, double score) {
  const double tail = logit < kExpOverflow ? kSigmoidTail : 0;
  return kSigmoidRelative * score + tail + kTiny32;
}

double silu_error(double gate, double silu) {
  const double tail = gate < kExpOverflow ? kSigmoidTail * std::fabs(gate) : 0;
  return kSigmoidRelative * std::fabs(silu) + tail + kTiny32;
}

double choice_error(double logit, double score, double choice) {
  return sigmoid_error(logit, score) + kU32 * std::fabs(choice) + kTiny32;
}

double group_score_error(double largest_choice_error, double group_score) {
  return 2 * largest_choice_error + kU32 * std::fabs(group_score) + kTiny32;
}

double weight_relative_error(std::int64_t top_k, bool normalised) {
  // All scores are positive, so the sum's relative error is at most the scores' plus (top_k - 1) additions.
  const double additions = static_cast<double>(top_k - 1) * kU32;
  const double sum_and_division = normalised ? kSigmoidRelative + additions + kU32 : 0;
  return kSigmoidRelative + sum_and_division + kU32;
}

double weight_relative_spread(std::int64_t top_k, bool normalised) {
  // The scores in the sum are weighted by their share, so together they err by no more than one of them.
  const double score = kSigmoidSpread * kSigmoidSpread;
  const double roundings = (static_cast<double>(top_k - 1) + 1) * kU32 * kU32;
  return std::sqrt(score + (normalised ? score + roundings : 0) + kU32 * kU32);
}

}  // namespace moediff::bounds
