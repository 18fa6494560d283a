// A small library that is loaded like a provider: with static data and device memory of its own.
#pragma once

#include <cstddef>

namespace moediff::hiphost::test_provider {

inline constexpr std::size_t kScratchFloats = 8192;  ///< eight pages

/// Address of its static scratch.
float* scratch();
/// Enqueues a kernel that writes scratch[index], or reads it into *out.
void write_scratch(std::size_t index);
void read_scratch(std::size_t index, float* out);
/// hipMalloc, as a provider calls it.
float* own_allocation(std::size_t floats);

}  // namespace moediff::hiphost::test_provider
