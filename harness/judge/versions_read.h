// How many of the bytes that a hazard's reader saw are not the version it meant: evidence for the sentence.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/order/hazard.h"
#include "harness/run/run.h"

namespace moediff {

struct Spoiled {
  std::int64_t different = 0, bytes = 0;
};

/// Compares the captured operand of the reader with the value as its producer left it or, for an initial value, as an
/// earlier step read it. Nothing when the capture holds no such pair of equal size.
std::optional<Spoiled> bytes_of_another_version(const Program& program, const Run& run, const Hazard& hazard);

}  // namespace moediff
