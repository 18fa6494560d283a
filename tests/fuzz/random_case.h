// Random clean cases: every router, scheme, policy, size and distribution, as a pure function of a number.
#pragma once

#include <cstdint>

#include "harness/scenario/case.h"

namespace moediff::fuzz {

/// Case number `index` of the series `seed`. Tokens 1 to 300, hidden 16 to 512 and inter 16 to 256 log-uniform, ragged
/// in a third of the cases.
Case random_case(std::uint64_t seed, std::uint64_t index);

}  // namespace moediff::fuzz
