// What a group's Expected remembers between cases: prepared weights, and stage results by the content of their inputs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "harness/compare/bounds/propagation.h"
#include "harness/compare/compare.h"
#include "harness/compare/field_stage.h"
#include "harness/compare/stage.h"
#include "harness/compare/weights.h"

namespace moediff {

struct Expected::State {
  std::map<std::string, std::unique_ptr<WeightSet>> weights;  ///< by content key (StageInput::key)
  std::unordered_map<std::uint64_t, std::shared_ptr<const StageResult>> stages;
  std::unordered_map<std::uint64_t, std::shared_ptr<const bounds::Uncertain>> chained;
  std::unordered_map<std::uint64_t, std::shared_ptr<const FieldResult>> field;  ///< algebra mode
  std::size_t remembered = 0;                                                   ///< doubles held by the memos
};

/// Makes room before `doubles` more are remembered: the memos are dropped when they would exceed their limit.
void make_room(Expected::State& state, std::size_t doubles);

/// The prepared matrices of a weight operand; by the content of codes and scales, and by the format. `scales` is absent
/// for plain numbers.
WeightSet& prepared(Expected::State& state, const StageInput& weight, const StageInput& scales,
                    const WeightFormat& format);

}  // namespace moediff
