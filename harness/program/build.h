// Builders: from a case's configuration to its Program. The choreography follows vLLM's FusedMoE.forward_impl after
// vllm#28942 (clone before the fork, waits in both directions, row threshold) and its AITER fused shared experts.
#pragma once

#include "harness/program/program.h"
#include "harness/scenario/case.h"

namespace moediff {

/// One MoE layer; the case's fault is not applied. Inputs are named as in run/inputs.h.
Program build_moe_layer(const Case& spec);

}  // namespace moediff
