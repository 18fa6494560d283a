// Element types of tensors, and the one table that lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace moediff {

enum class DType : std::uint8_t { f32, bf16, f64, i32, u8 };

struct DTypeRow {
  DType dtype;
  std::string_view name;         ///< in YAML, reports and the command line
  std::string_view safetensors;  ///< in a safetensors header
  int bytes;
};

inline constexpr std::array<DTypeRow, 5> kDTypes{{
    {DType::f32, "f32", "F32", 4},
    {DType::bf16, "bf16", "BF16", 2},
    {DType::f64, "f64", "F64", 8},
    {DType::i32, "i32", "I32", 4},
    {DType::u8, "u8", "U8", 1},
}};

constexpr const DTypeRow& row(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr int size_of(DType dtype) { return row(dtype).bytes; }
constexpr std::string_view to_string(DType dtype) { return row(dtype).name; }

}  // namespace moediff
