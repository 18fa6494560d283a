// What a group's Expected remembers between cases: prepared weights, and stage results by the content of their inputs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "harness/compare/bounds/propagation.h"
#include "harness/compare/compare.h"
#include "harness/compare/stage.h"
#include "harness/compare/weights.h"

namespace moediff {

struct Expected::State {
  std::map<std::string, std::unique_ptr<WeightSet>> weights;  ///< by content key (StageInput::key)
  std::unordered_map<std::uint64_t, std::shared_ptr<const StageResult>> stages;
  std::unordered_map<std::uint64_t, std::shared_ptr<const bounds::Uncertain>> chained;
  std::size_t remembered = 0;  ///< doubles held by both memos
};

/// Makes room before `doubles` more are remembered: both memos are dropped when they would exceed their limit.
void make_room(Expected::State& state, std::size_t doubles);

/// The prepared matrices of a weight operand.
WeightSet& prepared(Expected::State& state, const StageInput& weight);

}  // namespace moediff
