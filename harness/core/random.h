// Random numbers as pure functions of (seed, stream name, index): independent of order, grouping and threads (§8).
#pragma once

#include <cstdint>
#include <string_view>

namespace moediff {

/// Hash of a tensor's name, to key its random stream.
std::uint64_t stream_key(std::uint64_t seed, std::string_view name);
/// 64 random bits (splitmix64 finaliser over key and index, Steele, Lea, Flood 2014).
std::uint64_t random_bits(std::uint64_t key, std::uint64_t index);
/// Uniform in [0, 1), 53 bits.
double random_uniform(std::uint64_t key, std::uint64_t index);
/// Standard normal (Box-Muller on indices 2i and 2i+1).
double random_normal(std::uint64_t key, std::uint64_t index);

}  // namespace moediff
