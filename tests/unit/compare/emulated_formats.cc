#include "tests/unit/compare/emulated_formats.h"

#include <bit>
#include <cmath>
#include <vector>

namespace moediff::test {
namespace {

struct Fp8 {
  int mantissa_bits, bias;
  std::uint32_t largest_code;  ///< of a finite number
};

Fp8 fp8_of(DType dtype) {
  return dtype == DType::f8_e4m3fn ? Fp8{3, 7, 0x7e} : Fp8{3, 8, 0x7f};  // e4m3fn, e4m3fnuz
}

float fp8_magnitude(const Fp8& format, std::uint32_t code) {
  const auto mantissa = static_cast<float>(code & 7), exponent = static_cast<float>(code >> 3);
  return exponent == 0 ? std::ldexp(mantissa / 8, 1 - format.bias)
                       : std::ldexp(1 + mantissa / 8, static_cast<int>(exponent) - format.bias);
}

std::uint32_t encode_fp8(const Fp8& format, float value) {
  const float magnitude = std::fabs(value);
  std::uint32_t best = 0;
  for (std::uint32_t code = 1; code <= format.largest_code; ++code) {
    const float distance = std::fabs(fp8_magnitude(format, code) - magnitude),
                least = std::fabs(fp8_magnitude(format, best) - magnitude);
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return value < 0 && best != 0 ? best | 0x80 : best;
}

std::uint32_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

}  // namespace

float decode_code(DType dtype, std::uint32_t code) {
  switch (dtype) {
    case DType::bf16:
      return std::bit_cast<float>(code << 16);
    case DType::f16:
      return static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(code)));
    case DType::i8:
      return static_cast<float>(static_cast<std::int8_t>(code));
    case DType::f8_e8m0:
      return std::ldexp(1.0f, static_cast<int>(code) - 127);
    case DType::u8:
      return static_cast<float>(code);
    default:
      break;
  }
  const Fp8 format = fp8_of(dtype);
  if ((code & 0x7f) > format.largest_code || (dtype == DType::f8_e4m3fnuz && code == 0x80)) return NAN;
  const float magnitude = fp8_magnitude(format, code & 0x7f);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

std::uint32_t encode_code(DType dtype, float value) {
  switch (dtype) {
    case DType::bf16:
      return bf16_bits(value);
    case DType::f16:
      return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    case DType::i8:
      return static_cast<std::uint8_t>(static_cast<std::int8_t>(value));
    default:
      return std::isnan(value) ? (dtype == DType::f8_e4m3fn ? 0x7f : 0x80) : encode_fp8(fp8_of(dtype), value);
  }
}

float stored_as(DType dtype, float value) {
  return dtype == DType::f32 ? value : decode_code(dtype, encode_code(dtype, value));
}

}  // namespace moediff::test
