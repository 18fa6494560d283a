// What buffers hold before the first step, as host bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/run/run.h"

namespace moediff {

/// Poison: what memory holds until it is written (NaN in every float format, -1 as an integer).
inline constexpr std::byte kPoison{0xFF};

/// The buffer's bytes with its initial values in their regions and poison elsewhere; empty when no value is initial.
/// Throws RunFailure when `inputs` lacks a tensor, or has it with another dtype or size.
std::vector<std::byte> initial_image(const Program& program, int buffer, const Inputs& inputs);

/// Copies the region's rows between strided and packed bytes; `base` is the buffer's first byte.
void pack(const std::byte* base, const Region& region, std::byte* packed);
void unpack(const std::byte* packed, const Region& region, std::byte* base);

}  // namespace moediff
