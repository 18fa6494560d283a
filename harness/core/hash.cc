// FNV-1a over the bytes, then the splitmix64 finaliser, so that every bit of the result depends on every byte.
#include "harness/core/hash.h"

#include <array>
#include <cstdio>

namespace moediff {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3ull;

}  // namespace

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  std::uint64_t state = state_;
  for (const std::byte byte : bytes) state = (state ^ std::to_integer<std::uint64_t>(byte)) * kPrime;
  state_ = state;
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  return add(std::as_bytes(std::span(text.data(), text.size())));
}

Hasher& Hasher::add(std::int64_t number) {
  std::array<std::byte, 8> bytes;  // little-endian whatever the machine
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
  return add(std::span<const std::byte>(bytes));
}

std::uint64_t Hasher::value() const {
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::string to_hex(std::uint64_t hash) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

}  // namespace moediff
