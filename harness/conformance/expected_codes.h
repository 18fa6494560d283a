// The code that one float must encode to.
#pragma once

#include <cstdint>

#include "harness/conformance/formats.h"

namespace moediff {

/// `bits`: of the float.
std::uint32_t expected_code(const Conversion& conversion, std::uint32_t bits);

}  // namespace moediff
