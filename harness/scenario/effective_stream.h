// The stream configuration that takes effect: a fact, not a wish (architecture §3).
#pragma once

#include "harness/scenario/case.h"

namespace moediff {

/// aux falls back to none above `aux_threshold` tokens and when chunked, as in vLLM; without shared experts there is
/// nothing to place, so every wish comes to none.
StreamMode effective_stream(StreamMode wanted, std::int64_t tokens, std::int64_t chunk, std::int64_t aux_threshold,
                            std::int64_t n_shared);

}  // namespace moediff
