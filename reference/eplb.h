// Placement of experts on GPUs by their loads, with replicas of the busiest: DeepSeek's expert-parallel load balancer
// (deepseek-ai/EPLB, README and eplb.py), written from the published algorithm. Loads are float32 as there; equal loads
// are taken in ascending order (eplb.py leaves that open). And vLLM's step that keeps experts in their slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace moediff::reference {

/// One layer: experts [0, loads.size()), of consecutive groups of equal size. Conditions as in eplb.py: slots a
/// multiple of gpus and at least the number of experts, gpus a multiple of nodes; where groups is a multiple of nodes
/// also experts a multiple of groups.
struct EplbShape {
  std::int64_t slots = 0, groups = 1, nodes = 1, gpus = 1;
};

struct Placement {
  std::vector<std::int32_t> expert_of_slot;                ///< [slots]; slots of a GPU are consecutive
  std::vector<std::vector<std::int32_t>> slots_of_expert;  ///< [experts][replicas], in the order of their creation
};

/// Does the hierarchical policy apply: groups stay whole on a node? Otherwise replicas are spread over all GPUs.
inline bool is_hierarchical(const EplbShape& shape) { return shape.groups % shape.nodes == 0; }

/// Throws std::logic_error when the conditions do not hold.
Placement place_experts(std::span<const float> loads, const EplbShape& shape);

/// Reorders the experts of each GPU [slots of the new placement] so that those that were on the GPU before stay in
/// their slots; the others fill what is free, in order (vLLM distributed/eplb, preserve_intragpu_slots).
std::vector<std::int32_t> keep_slots(std::span<const std::int32_t> expert_of_slot,
                                     std::span<const std::int32_t> old_expert_of_slot, std::int64_t gpus);

}  // namespace moediff::reference
