// Number formats by definition: a binary format is (precision p, smallest normal exponent, largest finite value, what
// codes are special), and rounding works on the bits of the double directly, so that nothing is rounded twice on the
// way to a narrow format.
#include "harness/core/formats.h"

#include <bit>
#include <cmath>
#include <limits>

#include "harness/core/check.h"

namespace moediff {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

enum class Special : std::uint8_t {
  ieee,  ///< the largest exponent field means infinity or NaN
  fn,    ///< finite: only the code of all ones is NaN
  fnuz,  ///< finite, unsigned zero: the code of -0 is the only NaN
};

struct Binary {
  int bits;
  int precision;     ///< significant bits, the implicit one included
  int min_exponent;  ///< of the smallest positive normal
  double max_finite;
  Special special = Special::ieee;

  double min_normal() const { return std::ldexp(1.0, min_exponent); }
  double min_positive() const { return std::ldexp(1.0, min_exponent - precision + 1); }
  double overflow() const { return special == Special::ieee ? kInfinity : kNaN; }
};

constexpr Binary kF64{64, 53, -1022, std::numeric_limits<double>::max()};
constexpr Binary kF32{32, 24, -126, 0x1.fffffep127};
constexpr Binary kBf16{16, 8, -126, 0x1.fep127};
constexpr Binary kF16{16, 11, -14, 65504};
constexpr Binary kE4m3fn{8, 4, -6, 448, Special::fn};
constexpr Binary kE4m3fnuz{8, 4, -7, 240, Special::fnuz};
constexpr Binary kE5m2{8, 3, -14, 57344};
constexpr Binary kE5m2fnuz{8, 3, -15, 57344, Special::fnuz};

const Binary* find_binary(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return &kF32;
    case DType::bf16:
      return &kBf16;
    case DType::f64:
      return &kF64;
    case DType::f16:
      return &kF16;
    case DType::f8_e4m3fn:
      return &kE4m3fn;
    case DType::f8_e4m3fnuz:
      return &kE4m3fnuz;
    case DType::f8_e5m2:
      return &kE5m2;
    case DType::f8_e5m2fnuz:
      return &kE5m2fnuz;
    case DType::i32:
    case DType::u8:
    case DType::i8:
    case DType::f8_e8m0:
    case DType::field:
    case DType::i64:
      break;
  }
  return nullptr;
}

const Binary& binary(DType dtype) {
  const Binary* format = find_binary(dtype);
  CHECK(format != nullptr, "dtype is a floating-point format");
  return *format;
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

double decode_narrow(const Binary& format, std::uint32_t code) {
  const int mantissa_bits = format.precision - 1, exponent_bits = format.bits - format.precision;
  const std::uint32_t sign = code >> (format.bits - 1), mantissa = code & ((1u << mantissa_bits) - 1);
  const int field = static_cast<int>((code >> mantissa_bits) & ((1u << exponent_bits) - 1));
  const std::uint32_t magnitude = code & ((1u << (format.bits - 1)) - 1);
  if (format.special == Special::fnuz && sign == 1 && magnitude == 0) return kNaN;
  if (format.special == Special::fn && magnitude == (1u << (format.bits - 1)) - 1) return kNaN;
  if (format.special == Special::ieee && field == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? kNaN : sign == 1 ? -kInfinity : kInfinity;
  }
  const double significand = field == 0 ? mantissa : mantissa + (1u << mantissa_bits);
  const double value = std::ldexp(significand, format.min_exponent - mantissa_bits + (field == 0 ? 0 : field - 1));
  return sign == 1 ? -value : value;
}

std::uint32_t nan_code(const Binary& format) {
  if (format.special == Special::fnuz) return 1u << (format.bits - 1);
  if (format.special == Special::fn) return (1u << (format.bits - 1)) - 1;
  const std::uint32_t exponent = ((1u << (format.bits - format.precision)) - 1) << (format.precision - 1);
  return exponent | 1u << (format.precision - 2);
}

/// `rounded` is a value of the format, or infinite.
std::uint32_t encode_narrow(const Binary& format, double rounded) {
  if (std::isnan(rounded)) return nan_code(format);
  const int mantissa_bits = format.precision - 1;
  const double magnitude = std::fabs(rounded);
  std::uint32_t code = 0;
  if (std::isinf(magnitude)) {
    code = ((1u << (format.bits - format.precision)) - 1) << mantissa_bits;
  } else if (magnitude < format.min_normal()) {
    code = static_cast<std::uint32_t>(magnitude / format.min_positive());
  } else {
    const int exponent = std::ilogb(magnitude);
    const auto significand = static_cast<std::uint32_t>(std::ldexp(magnitude, mantissa_bits - exponent));
    code = static_cast<std::uint32_t>(exponent - format.min_exponent) * (1u << mantissa_bits) + significand;
  }
  const bool negative = std::signbit(rounded) && !(format.special == Special::fnuz && code == 0);
  return negative ? code | 1u << (format.bits - 1) : code;
}

double neighbour(DType dtype, double value, double direction) {
  CHECK(std::isnan(value) || round_to(dtype, value) == value, "value must be representable in dtype");
  if (std::isnan(value) || value == direction) return value;
  if (dtype == DType::f64) return std::nextafter(value, direction);
  if (dtype == DType::f32) return std::nextafter(static_cast<float>(value), static_cast<float>(direction));
  const Binary& format = binary(dtype);
  if (std::isinf(value)) return std::copysign(format.max_finite, value);
  const double exponent = std::fabs(value) < 2 * format.min_normal() ? format.min_exponent : std::ilogb(value);
  // One place of the binade that lies in the direction: below a power of two the places are half as wide.
  double place = std::ldexp(1.0, static_cast<int>(exponent) - format.precision + 1);
  const bool shrinks = (direction > 0) != (value > 0) && value != 0;
  if (shrinks && std::fabs(value) > format.min_normal() && std::fabs(value) == std::ldexp(1.0, std::ilogb(value))) {
    place /= 2;
  }
  const double next = direction > 0 ? value + place : value - place;
  return std::fabs(next) > format.max_finite ? std::copysign(format.overflow(), next) : next;
}

}  // namespace

bool is_float(DType dtype) { return find_binary(dtype) != nullptr; }

double decode(DType dtype, std::uint32_t code) {
  if (dtype == DType::f8_e8m0) return code == 255 ? kNaN : std::ldexp(1.0, static_cast<int>(code) - 127);
  const Binary& format = binary(dtype);
  CHECK(format.bits <= 16, "a code is at most 16 bits");
  return decode_narrow(format, code);
}

std::uint32_t encode(DType dtype, double value) {
  if (dtype == DType::f8_e8m0) {
    if (std::isnan(value)) return 255;
    const int exponent = std::ilogb(value);
    CHECK(value == std::ldexp(1.0, exponent) && exponent >= -127 && exponent <= 127, "e8m0 holds powers of two");
    return static_cast<std::uint32_t>(exponent + 127);
  }
  const Binary& format = binary(dtype);
  CHECK(format.bits <= 16, "a code is at most 16 bits");
  return encode_narrow(format, round_to(dtype, value));
}

double round_to(DType dtype, double value) {
  const Binary& format = binary(dtype);
  if (dtype == DType::f64) return value;
  if (!std::isfinite(value)) return std::isinf(value) ? std::copysign(format.overflow(), value) : value;
  const double rounded = std::fabs(value) < format.min_normal() ? round_fixed(value, format.min_positive())
                                                                : round_significand(value, format.precision);
  return std::fabs(rounded) > format.max_finite ? std::copysign(format.overflow(), value) : rounded;
}

std::uint16_t bf16_from_double(double value) {
  // Exact, as every bf16 is an f32; a NaN becomes quiet, so that its upper half is a NaN too.
  const float rounded = static_cast<float>(round_to(DType::bf16, value));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16);
}

double double_from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

double largest(DType dtype) { return binary(dtype).max_finite; }

double unit_roundoff(DType dtype) { return std::ldexp(1.0, -binary(dtype).precision); }

double half_smallest(DType dtype) {
  // Half of f64's smallest subnormal is no double; the subnormal itself is an upper bound of the rounding error.
  return dtype == DType::f64 ? kF64.min_positive() : binary(dtype).min_positive() / 2;
}

double next_up(DType dtype, double value) { return neighbour(dtype, value, kInfinity); }

double next_down(DType dtype, double value) { return neighbour(dtype, value, -kInfinity); }

}  // namespace moediff
