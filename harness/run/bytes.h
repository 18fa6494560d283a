// A compact binary form for plain structs: numbers as they lie in memory, texts and lists with their length first. Both
// ends are the same program, so there is no versioning; the reading end trusts no length, index or enumerator.
//
// A struct takes part by a function `fields(x)` that lists its members once, for both directions:
//   template <SameAs<Region> T> auto fields(T& x) { auto& [a, b] = x; return std::tie(a, b); }
// The structured binding stops compiling when the struct gains a member.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace moediff {

template <typename T, typename U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

/// Numbers and bytes, which are copied as they are, also a whole list at once.
template <typename T>
concept Plain = (std::is_arithmetic_v<T> && !std::same_as<T, bool>) || std::same_as<T, std::byte>;

/// The bytes end too early, a length or enumerator is out of range, or bytes are left over.
struct MalformedBytes : std::runtime_error {
  MalformedBytes() : std::runtime_error("malformed bytes") {}
};

class ByteWriter {
 public:
  template <typename T>
  void put(const T& x) {
    if constexpr (Plain<T>) {
      raw(&x, sizeof x);
    } else if constexpr (std::same_as<T, bool>) {
      put<std::uint8_t>(x ? 1 : 0);
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::int32_t>(x));
    } else {
      std::apply([this](const auto&... member) { (put(member), ...); }, fields(x));
    }
  }
  void put(const std::string& text) {
    put<std::uint64_t>(text.size());
    raw(text.data(), text.size());
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    put<std::uint64_t>(list.size());
    if constexpr (Plain<T>) {
      raw(list.data(), list.size() * sizeof(T));
    } else {
      for (const T& item : list) put(item);
    }
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void raw(const void* from, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  void get(T& x) {
    if constexpr (Plain<T>) {
      raw(&x, sizeof x);
    } else if constexpr (std::same_as<T, bool>) {
      std::uint8_t byte = 0;
      get(byte);
      if (byte > 1) throw MalformedBytes();
      x = byte == 1;
    } else if constexpr (std::is_enum_v<T>) {
      std::int32_t number = 0;
      get(number);
      if (number < 0 || number >= enumerators(T{})) throw MalformedBytes();
      x = static_cast<T>(number);
    } else {
      std::apply([this](auto&... member) { (get(member), ...); }, fields(x));
    }
  }
  void get(std::string& text) {
    text.resize(length(1));
    raw(text.data(), text.size());
  }
  template <typename T>
  void get(std::vector<T>& list) {
    if constexpr (Plain<T>) {
      list.resize(length(sizeof(T)));
      raw(list.data(), list.size() * sizeof(T));
    } else {
      const std::size_t count = length(1);
      list.clear();
      for (std::size_t i = 0; i < count; ++i) get(list.emplace_back());
    }
  }
  void expect_end() const {
    if (!rest_.empty()) throw MalformedBytes();
  }

 private:
  /// A count of items of at least `item_bytes` each: no more than the rest can hold.
  std::size_t length(std::size_t item_bytes) {
    std::uint64_t count = 0;
    get(count);
    if (count > rest_.size() / item_bytes) throw MalformedBytes();
    return static_cast<std::size_t>(count);
  }
  void raw(void* to, std::size_t size) {
    if (size > rest_.size()) throw MalformedBytes();
    if (size > 0) std::memcpy(to, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }
  std::span<const std::byte> rest_;
};

}  // namespace moediff
