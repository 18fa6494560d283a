#include "tests/unit/kernels/ops/formats_by_definition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace moediff::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

struct Format {
  int bits, exponent, mantissa, bias;
  bool infinities;  ///< and NaNs, in the codes with the largest exponent
  bool all_ones_is_nan;
  bool only_nan_is_minus_zero;
};

Format format_of(md_dtype dtype) {
  switch (dtype) {
    case MD_BF16:
      return {16, 8, 7, 127, true, false, false};
    case MD_F16:
      return {16, 5, 10, 15, true, false, false};
    case MD_F8_E4M3FN:
      return {8, 4, 3, 7, false, true, false};
    case MD_F8_E4M3FNUZ:
      return {8, 4, 3, 8, false, false, true};
    case MD_F8_E5M2:
      return {8, 5, 2, 15, true, false, false};
    default:
      return {8, 5, 2, 16, false, false, true};
  }
}

/// Values of the codes from 0 to that of the largest number, ascending.
const std::vector<double>& numbers(md_dtype format) {
  static std::map<md_dtype, std::vector<double>> known;
  std::vector<double>& values = known[format];
  for (std::uint32_t code = 0; values.empty() || code == values.size(); ++code) {
    const double value = value_of(format, code);
    if (code < code_count(format) / 2 && std::isfinite(value)) values.push_back(value);
  }
  return values;
}

}  // namespace

std::uint32_t code_count(md_dtype format) { return 1u << format_of(format).bits; }

double value_of(md_dtype format, std::uint32_t code) {
  if (format == MD_I8) return static_cast<std::int8_t>(code);
  if (format == MD_F8_E8M0) return code == 255 ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
  const Format f = format_of(format);
  const std::uint32_t sign_bit = 1u << (f.bits - 1), magnitude = code % sign_bit;
  const double sign = code >= sign_bit ? -1 : 1;
  const int exponent = static_cast<int>(magnitude >> f.mantissa), top = (1 << f.exponent) - 1;
  const int mantissa = static_cast<int>(magnitude) - (exponent << f.mantissa);
  if (f.only_nan_is_minus_zero && code == sign_bit) return kNan;
  if (f.all_ones_is_nan && magnitude == sign_bit - 1) return kNan;
  if (f.infinities && exponent == top) return mantissa == 0 ? sign * kInf : kNan;
  const double unit = std::ldexp(1.0, std::max(exponent, 1) - f.bias - f.mantissa);
  return sign * (mantissa + (exponent > 0 ? 1 << f.mantissa : 0)) * unit;
}

std::uint32_t nearest_code(md_dtype format, double x, bool saturate) {
  const Format f = format_of(format);
  const std::uint32_t sign_bit = 1u << (f.bits - 1);
  const std::uint32_t infinity = f.infinities ? ((1u << f.exponent) - 1) << f.mantissa : sign_bit - 1;
  const std::uint32_t nan = f.only_nan_is_minus_zero ? sign_bit : sign_bit - 1;
  if (std::isnan(x)) return nan;
  const std::uint32_t sign = std::signbit(x) ? sign_bit : 0;
  const std::vector<double>& values = numbers(format);
  const auto largest = static_cast<std::uint32_t>(values.size() - 1);
  const double a = std::abs(x);
  const auto at = std::upper_bound(values.begin(), values.end(), a);  // the first number above a
  const auto below = static_cast<std::uint32_t>(at - values.begin()) - 1;
  const double above = at == values.end() ? values[largest] + (values[largest] - values[largest - 1]) : *at;
  const bool up = above - a < a - values[below] || (above - a == a - values[below] && below % 2 == 1);
  const std::uint32_t code = below + (up ? 1 : 0);
  if (code > largest || std::isinf(x)) {
    if (saturate && std::isfinite(x)) return sign | largest;
    return f.only_nan_is_minus_zero ? nan : sign | infinity;
  }
  return f.only_nan_is_minus_zero && code == 0 ? 0 : sign | code;
}

float nearest_value(md_dtype format, float x) {
  return format == MD_F32 ? x : static_cast<float>(value_of(format, nearest_code(format, x)));
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

}  // namespace moediff::test
