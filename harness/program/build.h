// Builders: from a case's configuration to its Program. The choreography follows vLLM's FusedMoE.forward_impl after
// vllm#28942 (clone before the fork, waits in both directions, row threshold) and its AITER fused shared experts.
#pragma once

#include <cstdint>

#include "harness/program/program.h"
#include "harness/scenario/case.h"

namespace moediff {

/// One MoE layer; the case's fault is not applied. Inputs are named as in run/inputs.h.
Program build_moe_layer(const Case& spec);

/// What stands for routed_scaling_factor in algebra mode: a random element; 1 for the factor 1.
std::uint64_t field_factor(const Case& spec);

}  // namespace moediff
