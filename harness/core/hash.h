// A 64-bit content hash (FNV-1a with a final mix): names inputs and programs in records; not for security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace moediff {

class Hasher {
 public:
  Hasher& add(std::span<const std::byte> bytes);
  Hasher& add(std::string_view text);  ///< length first, so that ("ab","c") and ("a","bc") differ
  Hasher& add(std::int64_t number);
  std::uint64_t value() const;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

/// 16 hexadecimal digits.
std::string to_hex(std::uint64_t hash);

}  // namespace moediff
