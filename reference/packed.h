// Codes of stored weights: bytes, and nibbles packed two a byte along k, the even element in the low half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/model/quant.h"

namespace moediff::reference {

inline bool is_packed(CodeFormat format) { return format == CodeFormat::int4 || format == CodeFormat::fp4; }
/// Bytes of a row of `k` codes; a row of an odd number of nibbles ends with an unused one.
inline std::int64_t row_bytes(CodeFormat format, std::int64_t k) { return is_packed(format) ? (k + 1) / 2 : k; }

/// Code at row `n`, column `k` of a matrix with rows of `k_size`.
inline unsigned load_code(CodeFormat format, std::span<const std::byte> codes, std::int64_t n, std::int64_t k,
                          std::int64_t k_size) {
  const std::int64_t column = is_packed(format) ? k / 2 : k;
  const auto byte = std::to_integer<unsigned>(codes[static_cast<std::size_t>(n * row_bytes(format, k_size) + column)]);
  return is_packed(format) ? byte >> (4 * (k % 2)) & 0xF : byte;
}
/// Puts a code into zeroed `codes`.
inline void store_code(CodeFormat format, std::span<std::byte> codes, std::int64_t n, std::int64_t k,
                       std::int64_t k_size, unsigned code) {
  const std::int64_t column = is_packed(format) ? k / 2 : k;
  const unsigned shift = is_packed(format) ? 4 * static_cast<unsigned>(k % 2) : 0;
  codes[static_cast<std::size_t>(n * row_bytes(format, k_size) + column)] |= static_cast<std::byte>(code << shift);
}

}  // namespace moediff::reference
