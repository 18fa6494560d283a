// Number formats by definition: a binary format is (precision p, smallest normal exponent, largest finite value), and
// rounding works on the bits of the double directly, so that nothing is rounded twice on the way to bf16.
#include "harness/core/formats.h"

#include <bit>
#include <cmath>
#include <limits>

#include "harness/core/check.h"

namespace moediff {
namespace {

struct Binary {
  int precision;        ///< significant bits, the implicit one included
  double min_normal;    ///< smallest positive normal
  double min_positive;  ///< smallest positive subnormal
  double max_finite;
};

constexpr Binary kF32{24, 0x1p-126, 0x1p-149, 0x1.fffffep127};
constexpr Binary kBf16{8, 0x1p-126, 0x1p-133, 0x1.fep127};
constexpr Binary kF64{53, 0x1p-1022, 0x1p-1074, std::numeric_limits<double>::max()};

const Binary& binary(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return kF32;
    case DType::bf16:
      return kBf16;
    case DType::f64:
      return kF64;
    case DType::i32:
    case DType::u8:
      break;
  }
  check_failed(__FILE__, __LINE__, "dtype is a floating-point format", to_string(dtype).data());
}

/// Round to nearest even at a fixed number of significant bits: add just under half of the last kept place, one more
/// when that place is odd, and cut. A carry out of the mantissa moves into the exponent, as it should.
double round_significand(double value, int precision) {
  const int dropped = 53 - precision;
  std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t odd = (bits >> dropped) & 1;
  bits += (std::uint64_t{1} << (dropped - 1)) - 1 + odd;
  bits &= ~((std::uint64_t{1} << dropped) - 1);
  return std::bit_cast<double>(bits);
}

/// Round to a multiple of `quantum` for |value| well below 2^51 quanta: adding 1.5 * 2^52 quanta leaves the sum's last
/// place worth one quantum, so the addition itself rounds to nearest even.
double round_fixed(double value, double quantum) {
  const double shift = 0x1.8p52 * quantum;
  return std::copysign((value + shift) - shift, value);
}

/// bf16 codes in the order of the values they stand for; both zeros are 0.
int ordered_code(std::uint16_t code) { return (code & 0x8000) ? -(code & 0x7fff) : code; }
std::uint16_t code_of_ordered(int ordered) {
  return static_cast<std::uint16_t>(ordered < 0 ? 0x8000 | -ordered : ordered);
}

double neighbour(DType dtype, double value, double direction) {
  CHECK(std::isnan(value) || round_to(dtype, value) == value, "value must be representable in dtype");
  if (std::isnan(value) || value == direction) return value;
  if (dtype == DType::f64) return std::nextafter(value, direction);
  if (dtype == DType::f32) return std::nextafter(static_cast<float>(value), static_cast<float>(direction));
  const int step = direction > 0 ? 1 : -1;
  return double_from_bf16(code_of_ordered(ordered_code(bf16_from_double(value)) + step));
}

}  // namespace

double round_to(DType dtype, double value) {
  const Binary& format = binary(dtype);
  if (dtype == DType::f64 || !std::isfinite(value)) return value;
  const double rounded = std::fabs(value) < format.min_normal ? round_fixed(value, format.min_positive)
                                                              : round_significand(value, format.precision);
  return std::fabs(rounded) > format.max_finite ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                                : rounded;
}

std::uint16_t bf16_from_double(double value) {
  // Exact, as every bf16 is an f32; a NaN becomes quiet, so that its upper half is a NaN too.
  const float rounded = static_cast<float>(round_to(DType::bf16, value));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16);
}

double double_from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

double unit_roundoff(DType dtype) { return std::ldexp(1.0, -binary(dtype).precision); }

double half_smallest(DType dtype) {
  // Half of f64's smallest subnormal is no double; the subnormal itself is an upper bound of the rounding error.
  return dtype == DType::f64 ? kF64.min_positive : binary(dtype).min_positive / 2;
}

double next_up(DType dtype, double value) { return neighbour(dtype, value, std::numeric_limits<double>::infinity()); }

double next_down(DType dtype, double value) {
  return neighbour(dtype, value, -std::numeric_limits<double>::infinity());
}

}  // namespace moediff
