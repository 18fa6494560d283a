// Every number that a tolerance is made of, with its reason. No other file of moediff holds one (docs/bounds.md).
#pragma once

#include <cmath>
#include <cstdint>

namespace moediff::bounds {

/// Probability that a whole suite of right results has a single element called wrong (union bound).
inline constexpr double kFailureProbability = 1e-9;
/// Elements that a suite compares at most: the number the union bound is taken over.
inline constexpr double kElementsPerSuite = 1e9;

/// lambda: Hoeffding says P(|sum of independent zero-mean e_i, |e_i| <= c_i| >= lambda sqrt(sum c_i^2)) is at most
/// 2 exp(-lambda^2 / 2); setting this to p/N gives lambda = sqrt(2 ln(2N/p)) = 9.18.
inline double statistical_factor() {
  static const double lambda = std::sqrt(2 * std::log(2 * kElementsPerSuite / kFailureProbability));
  return lambda;
}

/// Unit roundoff of the accumulators (fp32) and half their smallest subnormal: the error of one rounding is at most
/// kU32 |t| for normal t and kTiny32 below.
inline constexpr double kU32 = 0x1p-24;
inline constexpr double kTiny32 = 0x1p-150;

/// sigmoid(z) = 1 / (1 + exp(-z)) in fp32: exp within 2 ulp, that is 4u (published maxima of expf: CUDA 2 or 1 ulp by
/// release, HIP 1, glibc 0.502), damped by exp/(1+exp) <= 1; the sum u; the division u. Together 6u; 8u leaves room for
/// one more rounding (silu as gate * sigmoid(gate)) and for the second-order terms.
inline constexpr double kSigmoidRelative = 8 * kU32;
/// The same roundings as independent errors, for sums of squares: sqrt(4^2 + 1 + 1 + 1) u.
inline constexpr double kSigmoidSpread = 4.4 * kU32;
/// Below this argument expf(-z) overflows (ln(FLT_MAX) = 88.72) and sigmoid becomes 0 instead of at most 2^-127.
inline constexpr double kExpOverflow = -87.0;
inline constexpr double kSigmoidTail = 0x1p-125;  ///< sigmoid(-87) = 2^-125.5

/// A single fp32 operation (product with the factor, addition) is evaluated exactly here; one ulp either way is left
/// for a double rounding in the reference (double, then fp32) and for units that round once, straight to bf16.
inline constexpr double kSingleOperation = 2 * kU32;

/// The share of rows whose selection hangs on a near-tie, and the number of rows always allowed. Scores are sigmoids
/// of logits with an fp32 error near 1e-7, while neighbours among 256 scores lie about 1e-3 apart: near-ties are a
/// matter of 1e-4, so 2 % means that the candidate's logits lost precision.
inline constexpr double kNearTieLimit = 0.02;
inline constexpr std::int64_t kNearTieRows = 3;

/// budget_used of a result that no error explains (exact stages): reported instead of infinity.
inline constexpr double kBudgetCap = 1e6;

}  // namespace moediff::bounds
