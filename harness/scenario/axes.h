// Axes and locksteps: lists and ranges of values.
#pragma once

#include <vector>

#include "harness/scenario/layer.h"

namespace moediff {

inline constexpr std::size_t kMaxCases = 100'000;  ///< of one scenario

/// `axes: {tokens: [1, 5], chunk: {from: 0, to: 8, step: 4}}`.
void read_axes(const Node& node, Layer& layer, std::vector<Error>& errors);
/// `lockstep: [{layer: [1, 2], hidden_states: [a, b]}, …]`, or one such map.
void read_lockstep(const Node& node, Layer& layer, std::vector<Error>& errors);

}  // namespace moediff
