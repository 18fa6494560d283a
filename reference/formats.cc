// Decoding by the definition of a binary floating-point format: (-1)^sign * 2^(exponent - bias) * 1.mantissa, without
// the leading one and with exponent 1 where the exponent field is 0. Encoding by bisection in the table of all values:
// in every format here the non-negative finite codes are 0, 1, 2, … in ascending order of their values.
#include "reference/formats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/require.h"

namespace moediff::reference {
namespace {

/// What the largest codes mean. ieee: exponent of all ones is infinity or NaN. fn: only all ones is NaN. fnuz: every
/// code but sign alone, which is the NaN, is finite; there is no -0.
enum class Special { ieee, fn, fnuz };

struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits, bias;
  Special special;
};
constexpr std::array<Format, 6> kFormats{{
    {DType::f16, 5, 10, 15, Special::ieee},
    {DType::bf16, 8, 7, 127, Special::ieee},
    {DType::f8_e4m3fn, 4, 3, 7, Special::fn},
    {DType::f8_e4m3fnuz, 4, 3, 8, Special::fnuz},
    {DType::f8_e5m2, 5, 2, 15, Special::ieee},
    {DType::f8_e5m2fnuz, 5, 2, 16, Special::fnuz},
}};

std::size_t index_of(DType dtype) {
  const auto* const found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& f) { return f.dtype == dtype; });
  require(found != kFormats.end(), "no floating-point format of 8 or 16 bits");
  return static_cast<std::size_t>(found - kFormats.begin());
}

std::uint32_t sign_bit(const Format& f) { return 1u << (f.exponent_bits + f.mantissa_bits); }
std::uint32_t infinity_code(const Format& f) { return ((1u << f.exponent_bits) - 1) << f.mantissa_bits; }

std::uint32_t largest_finite_code(const Format& f) {
  switch (f.special) {
    case Special::ieee:
      return infinity_code(f) - 1;
    case Special::fn:
      return sign_bit(f) - 2;
    case Special::fnuz:
      break;
  }
  return sign_bit(f) - 1;
}

std::uint32_t nan_code(const Format& f) {
  switch (f.special) {
    case Special::ieee:
      return infinity_code(f) | (1u << (f.mantissa_bits - 1));
    case Special::fn:
      return sign_bit(f) - 1;
    case Special::fnuz:
      break;
  }
  return sign_bit(f);
}

/// The value of a non-negative code, were all of them finite.
double magnitude(const Format& f, std::uint32_t code) {
  const std::uint32_t one = 1u << f.mantissa_bits;
  const std::uint32_t exponent = code >> f.mantissa_bits, mantissa = code & (one - 1);
  const std::uint32_t significand = exponent == 0 ? mantissa : one + mantissa;
  return std::ldexp(significand, static_cast<int>(std::max(exponent, 1u)) - f.bias - f.mantissa_bits);
}

/// All non-negative finite values, and the one that would follow: what rounds to it overflows.
std::vector<double> magnitudes(const Format& f) {
  std::vector<double> values;
  for (std::uint32_t code = 0; code <= largest_finite_code(f) + 1; ++code) values.push_back(magnitude(f, code));
  return values;
}

const std::vector<double>& table(std::size_t index) {
  static const std::array<std::vector<double>, kFormats.size()> tables = [] {
    std::array<std::vector<double>, kFormats.size()> all;
    std::transform(kFormats.begin(), kFormats.end(), all.begin(), magnitudes);
    return all;
  }();
  return tables[index];
}

/// Position in ascending `values` of the one nearest to `value`, the even position on ties; the last one beyond it.
std::uint32_t nearest(const std::vector<double>& values, double value) {
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  const auto position = static_cast<std::uint32_t>(above - values.begin()) - 1;  // values[0] == 0 <= value
  if (above == values.end()) return position;
  const double to_lower = value - *(above - 1), to_upper = *above - value;  // exact where they are close to equal
  if (to_lower != to_upper) return to_lower < to_upper ? position : position + 1;
  return position + position % 2;
}

std::uint32_t overflow_code(const Format& f, bool infinite, Overflow overflow) {
  const bool to_largest = overflow == Overflow::saturate || (overflow == Overflow::saturate_finite && !infinite);
  if (to_largest) return largest_finite_code(f);
  return f.special == Special::ieee ? infinity_code(f) : nan_code(f);
}

double e8m0(std::uint32_t code) {
  constexpr int kBias = 127;
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(code) - kBias);
}

/// binary32 has too many values for a table: the nearest multiple of the spacing at `value`.
double round_to_f32(double value, Overflow overflow) {
  constexpr int kMantissaBits = 23, kLeastExponent = -126;
  const double largest = std::ldexp(std::ldexp(1.0, kMantissaBits + 1) - 1, 127 - kMantissaBits);
  if (std::isnan(value) || value == 0) return value;
  const bool infinite = std::isinf(value);
  const int spacing = infinite ? 0 : std::max(std::ilogb(value), kLeastExponent) - kMantissaBits;
  const double rounded = infinite ? value : std::ldexp(std::nearbyint(std::ldexp(value, -spacing)), spacing);
  if (std::fabs(rounded) <= largest) return rounded;
  const bool to_largest = overflow == Overflow::saturate || (overflow == Overflow::saturate_finite && !infinite);
  return std::copysign(to_largest ? largest : std::numeric_limits<double>::infinity(), value);
}

}  // namespace

double decode(DType format, std::uint32_t code) {
  if (format == DType::f8_e8m0) {
    require(code <= 255, "a code of e8m0 has 8 bits");
    return e8m0(code);
  }
  const Format& f = kFormats[index_of(format)];
  require(code < 2 * sign_bit(f), "the code has too many bits for its format");
  const std::uint32_t positive = code & (sign_bit(f) - 1);
  const bool negative = positive != code;
  if (f.special == Special::fnuz && code == nan_code(f)) return std::numeric_limits<double>::quiet_NaN();
  double value = magnitude(f, positive);
  if (positive > largest_finite_code(f)) {
    const bool infinite = f.special == Special::ieee && positive == infinity_code(f);
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return negative ? -value : value;
}

std::uint32_t encode(DType format, double value, Overflow overflow) {
  const std::size_t index = index_of(format);
  const Format& f = kFormats[index];
  if (std::isnan(value)) return nan_code(f);
  std::uint32_t code = nearest(table(index), std::fabs(value));
  if (code > largest_finite_code(f)) code = overflow_code(f, std::isinf(value), overflow);
  const bool has_sign = f.special != Special::fnuz || code != 0;
  return code | (std::signbit(value) && has_sign ? sign_bit(f) : 0u);
}

double round_to(DType format, double value, Overflow overflow) {
  if (format == DType::f64) return value;
  if (format == DType::f32) return round_to_f32(value, overflow);
  return decode(format, encode(format, value, overflow));
}

}  // namespace moediff::reference
