// Reproducible numbers for tests.
#pragma once

#include <cstdint>
#include <vector>

namespace moediff::reference {

/// Multiples of 2^-23 in [-1, 1), as f32 inputs have: products are exact in double, and their sums in 128-bit integers.
inline std::vector<double> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<double> out;
  std::uint32_t state = seed;
  while (static_cast<std::int64_t>(out.size()) < count) {
    state = state * 1664525u + 1013904223u;
    out.push_back(static_cast<double>(state >> 8) * 0x1p-23 - 1.0);
  }
  return out;
}

}  // namespace moediff::reference
