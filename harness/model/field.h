// Algebra mode's field as the harness draws its elements: the integers modulo the Mersenne prime 2^61 - 1.
#pragma once

#include <cstdint>

namespace moediff {

inline constexpr std::uint64_t kFieldPrime = (std::uint64_t{1} << 61) - 1;

}  // namespace moediff
