// The error of a sum of products accumulated in fp32 with fused multiply-adds.
#pragma once

#include <cstdint>
#include <span>

namespace moediff::bounds {

/// Distance from the double value that an fp32 evaluation may have.
struct Delta {
  double statistical = 0;  ///< decides
  double hard = 0;         ///< beyond it no sequence of roundings explains the result; never below `statistical`
};

/// gamma_n = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1).
double gamma(std::int64_t n, double unit_roundoff);

/// Error of an accumulation of `steps` operations: `sum_abs` and `sum_sq_partial` as in reference::Terms.
///
/// With s_i the i-th partial sum, s_i(computed) = s_i + e_i, |e_i| <= u |s_i|. The total error is sum e_i to first
/// order. Hard: |error| <= gamma_n sum |a_i b_i| (Higham, section 3.1), whatever the order. Statistical: with the e_i
/// independent, of zero mean (Higham & Mary 2019, model 2.1; stochastically justified there also where they are not
/// quite), Hoeffding's inequality gives |error| <= lambda u sqrt(sum s_i^2).
Delta accumulation_error(double sum_abs, double sum_sq_partial, std::int64_t steps);

/// Largest g such that every value is a multiple of 2^g; a large number for zeros only, a small one for non-finite
/// data.
int grid_exponent(std::span<const double> values);
/// Products of multiples of 2^a and 2^b are multiples of 2^(a+b); while the partial sums stay within 2^24 of them fp32
/// holds each of them, and the accumulation makes no error at all ("exact data").
bool accumulates_exactly(double sum_abs, int grid_a, int grid_b);

}  // namespace moediff::bounds
