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
/// Unit roundoff of the reference (double).
inline constexpr double kU64 = 0x1p-53;

/// expf within 2 ulp, that is 4u (published maxima: CUDA 2 or 1 ulp by release, HIP 1, glibc 0.502).
inline constexpr double kExpRelative = 4 * kU32;
/// sigmoid(z) = 1 / (1 + exp(-z)) in fp32: exp, damped by exp/(1+exp) <= 1; the sum u; the division u. Together 6u; 8u
/// leaves room for one more rounding (silu as gate * sigmoid(gate)) and for the second-order terms; and for forms that
/// use exp twice, where it is within 1 ulp.
inline constexpr double kSigmoidRelative = 8 * kU32;
/// The same roundings as independent errors, for sums of squares: sqrt(4^2 + 1 + 1 + 1) u.
inline constexpr double kSigmoidSpread = 4.4 * kU32;
/// Below this argument expf(-z) may overflow (ln(FLT_MAX) = 88.72), or expf(z) be flushed to zero (its result would be
/// subnormal from -87.34 on): a sigmoid is then 0 instead of at most 2^-125.
inline constexpr double kExpOverflow = -87.0;
/// There, and where a cancelling sum is 0 in fp32, the error may be the whole result; twice that leaves a result of 0
/// at half of its budget.
inline constexpr double kMayVanish = 2;
/// erff and tanhf within 2 ulp, that is 4u (published maxima: CUDA 2, HIP 2, glibc 1 and 2).
inline constexpr double kErfRelative = 4 * kU32;
inline constexpr double kTanhRelative = 4 * kU32;
/// Beyond these arguments erf and tanh differ from +-1 by less than u/2 (2e-17, 4e-9), and every implementation says
/// so.
inline constexpr double kErfFlat = 6;
inline constexpr double kTanhFlat = 10;
/// Roundings in the arguments: g / sqrt(2) has the constant's and the product's; sqrt(2/pi) (g + 0.044715 g^3) has
/// those of both constants, two for the cube, two products and the sum, all terms of one sign; 1.702 g has two.
inline constexpr double kErfArgument = 2 * kU32;
inline constexpr double kTanhArgument = 7 * kU32;
inline constexpr double kOaiSlope = 1.702;
inline constexpr double kOaiArgument = 2 * kU32;
/// Near zero the two products of g / 2 (1 + …) each err by half a subnormal, the first of them times 1 + … <= 2.
inline constexpr double kActivationTiny = 3 * kTiny32;
/// Largest |f''| of the gated activations, for the remainder of their expansion: silu 1/2, gelu 2 / sqrt(2 pi) = 0.798,
/// gelu_tanh 0.80, 1.702 times that of silu.
inline constexpr double kCurvature = 0.9;
/// Largest |f'|: gelu 1.129, gelu_tanh 1.13, silu 1.0999 (also with slope 1.702). Used where a clamp's kink is near.
inline constexpr double kSteepest = 1.13;

/// A single fp32 operation (product with the factor, addition) is evaluated exactly here; one ulp either way is left
/// for a double rounding in the reference (double, then fp32) and for units that round once, straight to bf16.
inline constexpr double kSingleOperation = 2 * kU32;

/// Units in the last place that an fp32 quotient may be off: 0 for IEEE division; 1 for the quotient of units that
/// divide by Newton iteration (CUDA -prec-div=false and HIP's fast division state 2 ulp for the raw form, 1 after the
/// usual correction); a product with a reciprocal has the reciprocal's too. Division by a power of two is exact
/// anywhere.
inline constexpr int kDivisionUlps = 1;
inline constexpr int kReciprocalUlps = 2;
/// A scale rounded up to a power of two as 2^ceil(log2f(s)): log2f within 1 ulp of |log2 s|, which moves s by
/// ln 2 * 2u |log2 s| < 2u |log2 s|; so near a power of two both it and the next one are right.
inline constexpr double kLog2Relative = 2 * kU32;

/// The share of rows, and the number of rows always allowed, whose selection hangs on a near-tie that the expected
/// logits do not have within their own error. Scores are sigmoids of logits with an fp32 error near 1e-7, while
/// neighbours among 256 scores lie about 1e-3 apart: such near-ties are a matter of 1e-4, so 2 % means that the
/// candidate's logits lost precision.
inline constexpr double kNearTieLimit = 0.02;
inline constexpr std::int64_t kNearTieRows = 3;

/// budget_used of a result that no error explains (exact stages): reported instead of infinity.
inline constexpr double kBudgetCap = 1e6;

}  // namespace moediff::bounds
