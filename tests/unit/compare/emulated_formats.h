// Number formats for the emulated candidate, written for the tests alone: bits for bf16, the compiler's own type for
// f16, a search in the list of values for the 8-bit ones.
#pragma once

#include <cstdint>

#include "harness/core/dtype.h"

namespace moediff::test {

/// The value of a code.
float decode_code(DType dtype, std::uint32_t code);
/// The nearest code, ties to even; 8-bit formats saturate.
std::uint32_t encode_code(DType dtype, float value);
/// As if stored in `dtype`.
float stored_as(DType dtype, float value);

}  // namespace moediff::test
