// Element types of tensors, and the one table that lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace moediff {

enum class DType : std::uint8_t {
  f32,
  bf16,
  f64,
  i32,
  u8,  ///< bytes; also two 4-bit codes each, the even element in the low half
  f16,
  i8,
  f8_e4m3fn,    ///< bias 7, largest 448, NaN 0x7F and 0xFF, no infinity (OCP 8-bit floating point, 2023)
  f8_e4m3fnuz,  ///< bias 8, largest 240, NaN 0x80 only, no -0
  f8_e5m2,      ///< bias 15, largest 57344, infinities and NaNs as IEEE 754
  f8_e5m2fnuz,  ///< bias 16, largest 57344, NaN 0x80 only, no -0
  f8_e8m0,      ///< a power of two, 2^(code - 127); 255 is NaN (OCP Microscaling, 2023)
  field,        ///< integers modulo 2^61 - 1 (algebra mode)
  i64,
};

struct DTypeRow {
  DType dtype;
  std::string_view name;         ///< in YAML, reports and the command line
  std::string_view safetensors;  ///< in a safetensors header; "" = has none
  int bytes;
};

inline constexpr std::array<DTypeRow, 14> kDTypes{{
    {DType::f32, "f32", "F32", 4},
    {DType::bf16, "bf16", "BF16", 2},
    {DType::f64, "f64", "F64", 8},
    {DType::i32, "i32", "I32", 4},
    {DType::u8, "u8", "U8", 1},
    {DType::f16, "f16", "F16", 2},
    {DType::i8, "i8", "I8", 1},
    {DType::f8_e4m3fn, "f8_e4m3fn", "F8_E4M3", 1},
    {DType::f8_e4m3fnuz, "f8_e4m3fnuz", "", 1},
    {DType::f8_e5m2, "f8_e5m2", "F8_E5M2", 1},
    {DType::f8_e5m2fnuz, "f8_e5m2fnuz", "", 1},
    {DType::f8_e8m0, "f8_e8m0", "F8_E8M0", 1},
    {DType::field, "field", "", 8},
    {DType::i64, "i64", "I64", 8},
}};

constexpr const DTypeRow& row(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr int size_of(DType dtype) { return row(dtype).bytes; }
constexpr std::string_view to_string(DType dtype) { return row(dtype).name; }

}  // namespace moediff
