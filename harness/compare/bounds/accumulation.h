// The error of a sum of products accumulated in fp32 with fused multiply-adds.
#pragma once

#include <cstdint>
#include <span>

namespace moediff::bounds {

/// Distance from the double value that an fp32 evaluation may have. Infinite: nothing can be said, as an intermediate
/// result may overflow or the inputs have no meaning; then any actual value is right.
struct Delta {
  double statistical = 0;  ///< decides
  double hard = 0;         ///< beyond it no sequence of roundings explains the result; never below `statistical`
};
Delta no_claim();

/// gamma_n = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1).
double gamma(std::int64_t n, double unit_roundoff);

/// Error of an accumulation of `steps` operations: `sum_abs` and `sum_sq_partial` as in reference::Terms. `absolute`:
/// what does not depend on the partial sums: roundings near zero (kTiny32 a product, times the factors it is multiplied
/// with later) and the reference's own error.
///
/// With s_i the i-th partial sum, s_i(computed) = s_i + e_i, |e_i| <= u |s_i|. The total error is sum e_i to first
/// order. Hard: |error| <= gamma_n sum |a_i b_i| (Higham, section 3.1), whatever the order. Statistical: with the e_i
/// independent, of zero mean (Higham & Mary 2019, model 2.1; stochastically justified there also where they are not
/// quite), Hoeffding's inequality gives |error| <= lambda u sqrt(sum s_i^2).
Delta accumulation_error(double sum_abs, double sum_sq_partial, std::int64_t steps, double absolute);

/// Error of the reference itself, which adds `terms` products in double. It matters where the candidate's sum makes
/// none: integers that cancel to 0.
double reference_error(double sum_abs, std::int64_t terms);

/// Largest magnitude of fp32: partial sums beyond it overflow.
bool may_overflow(double magnitude);

/// Largest g such that every value is a multiple of 2^g; a large number for zeros only, a small one for non-finite
/// data.
int grid_exponent(std::span<const double> values);
int grid_exponent(double value);
/// While the partial sums stay within 2^24 multiples of 2^grid, fp32 holds each of them, and the accumulation makes no
/// error at all ("exact data"); products of multiples of 2^a and 2^b are multiples of 2^(a+b). `underflow` as above:
/// no product on the way may need a bit below fp32's last.
bool accumulates_exactly(double sum_abs, std::int64_t grid, double underflow);

}  // namespace moediff::bounds
