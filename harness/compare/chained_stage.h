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

/// By operand: numbers for values, matrices for weights, neither for absent ones and outputs.
struct ChainedInputs {
  std::vector<std::shared_ptr<const bounds::Uncertain>> numbers;
  std::vector<WeightSet*> weights;
  std::optional<std::vector<std::int32_t>>
      candidate_ids;  ///< router: the choice to go on with; none = the expected one
};

/// Outputs by operand; empty when the inputs make no sense to the stage (an expert that does not exist).
std::map<int, bounds::Uncertain> propagate(const Step& step, const ChainedInputs& inputs);

/// Is this slot of an op a weight matrix?
bool is_weight_slot(OpKind op, int operand);

}  // namespace moediff
