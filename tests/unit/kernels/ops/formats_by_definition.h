// Narrow number formats by their definitions, for the tests alone: a value is a formula in powers of two, and rounding
// is a search among all values. Published parameters: IEEE 754-2019 (binary16), OCP OFP8 v1.0 (e4m3fn, e5m2),
// arXiv:2206.02915 (fnuz), OCP Microscaling v1.0 (E8M0).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/abi/moediff_abi.h"

namespace moediff::test {

/// The float formats of at most 16 bits with a sign.
inline constexpr md_dtype kNarrowFormats[] = {MD_BF16,        MD_F16,     MD_F8_E4M3FN,
                                              MD_F8_E4M3FNUZ, MD_F8_E5M2, MD_F8_E5M2FNUZ};

/// Number of codes: 256 or 65536.
std::uint32_t code_count(md_dtype format);
/// Value of a code; MD_I8 and MD_F8_E8M0 too.
double value_of(md_dtype format, std::uint32_t code);
/// The code whose value is nearest to x, of two equally near ones the even one. Beyond the largest number: infinity or
/// NaN, or with `saturate` the largest, if x is finite. Code of some NaN for NaN.
std::uint32_t nearest_code(md_dtype format, double x, bool saturate = false);
/// The value of that code; x itself for MD_F32, if it is an fp32 number.
float nearest_value(md_dtype format, float x);
/// Both NaN, or the same number with the same sign.
bool same(double a, double b);

/// Values of the codes of e2m1 (OCP MX, table 5); 8 to 15 are their negatives.
inline constexpr float kE2M1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

}  // namespace moediff::test
