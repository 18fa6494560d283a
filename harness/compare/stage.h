// One stage recomputed by the reference from given input bytes, with what its bounds need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/compare/bounds/acceptance.h"
#include "harness/compare/compare.h"
#include "reference/api.h"

namespace moediff {

/// Bytes of one read operand.
struct StageInput {
  bool present = false;  ///< false: optional operand that is absent
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> owned;  ///< used unless `borrowed` is set
  std::span<const std::byte> borrowed;
  std::string key;  ///< equal keys = equal bytes; the name of the tensor for whole inputs

  std::span<const std::byte> bytes() const { return borrowed.empty() ? std::span<const std::byte>(owned) : borrowed; }
};

/// By operand; operands that are not read stay absent.
using StageInputs = std::vector<StageInput>;

/// One read operand as meant (assemble.h). None when its values cannot be had.
std::optional<StageInput> meant_input(const Program& program, const Run& run, const Inputs& inputs, int step,
                                      int operand);
/// Inputs as meant, or as the step found them (captured). None when a read operand cannot be had.
std::optional<StageInputs> meant_inputs(const Program& program, const Run& run, const Inputs& inputs, int step);
std::optional<StageInputs> inputs_as_read(const Program& program, const Run& run, const Inputs& inputs, int step);

struct StageResult {
  std::string problem;  ///< why the reference cannot compute the stage from these inputs; "" = it did
  /// By operand. The router has logits only: the rest follows from them. Codes are those of the expected scales.
  std::vector<bounds::Acceptance> outputs;
};

/// Recomputes a call. `model`: the case's dtype. Remembered by content.
std::shared_ptr<const StageResult> evaluate(const Step& step, DType model, const StageInputs& inputs,
                                            Expected& expected);

/// The reference's router configuration of a router step, whose logits have `experts` columns. `model`: the case's
/// dtype.
reference::RouterConfig router_config(const Step& step, std::int64_t experts, DType model);

}  // namespace moediff
