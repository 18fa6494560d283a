// Builders: from a case's configuration to its Program. The choreography follows vLLM's FusedMoE.forward_impl after
// vllm#28942 (clone before the fork, waits in both directions, row threshold) and its AITER fused shared experts.
#pragma once

#include "harness/program/program.h"
#include "harness/scenario/case.h"

namespace moediff {

/// The stream configuration that takes effect: aux falls back to none above the row threshold, when chunked, and
/// without shared experts.
StreamMode effective_stream(StreamMode wanted, std::int64_t tokens, std::int64_t chunk, std::int64_t aux_threshold, std::int64_t n_shared);

/// One MoE layer; the case's fault is not applied.
Program build_moe_layer(const Case& spec);

}  // namespace moediff
