// One stage of the chained comparison: from inputs with errors to outputs with errors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "harness/compare/bounds/propagation.h"
#include "harness/compare/weights.h"
#include "harness/program/program.h"

namespace moediff {

/// By operand: numbers for values, matrices for weights (with their scales in them), neither for absent ones and
/// outputs.
struct ChainedInputs {
  std::vector<std::shared_ptr<const bounds::Uncertain>> numbers;
  std::vector<WeightSet*> weights;
  std::optional<std::vector<std::int32_t>>
      candidate_ids;  ///< router: the choice to go on with; none = the expected one
};

/// Outputs by operand; empty when the inputs make no sense to the stage (an expert that does not exist). `model`: the
/// case's dtype.
std::map<int, bounds::Uncertain> propagate(const Step& step, DType model, const ChainedInputs& inputs);

/// What an operand of an op is to the propagation.
enum class SlotRole : std::uint8_t { value, weight, weight_scales, unused };
SlotRole slot_role(OpKind op, int operand);
/// Operand with the scales of the weight, or -1.
int weight_scales_slot(OpKind op);

}  // namespace moediff
