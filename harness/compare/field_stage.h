// Algebra mode: an op over the integers modulo 2^61 - 1, where its result is exact whatever the order of summation.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/compare/stage.h"

namespace moediff {

struct FieldResult {
  std::string problem;                            ///< why the reference cannot compute the op; "" = it did
  std::map<int, std::vector<std::byte>> outputs;  ///< by operand, as they must be stored
};

/// Recomputes a call. Remembered by content. The router and convert do not exist in this mode (CHECK).
std::shared_ptr<const FieldResult> evaluate_field(const Step& step, const StageInputs& inputs, Expected& expected);

/// The codes of a quantisation given stored scales: a wrong scale is reported at the scale alone.
std::vector<std::byte> field_codes(const Step& step, const StageInputs& inputs, std::span<const std::byte> scales);

}  // namespace moediff
