// Source: vLLM FusedMoE.forward_impl after vllm#28942 (VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD, chunked path).
#include "harness/scenario/effective_stream.h"

namespace moediff {

StreamMode effective_stream(StreamMode wanted, std::int64_t tokens, std::int64_t chunk, std::int64_t aux_threshold,
                            std::int64_t n_shared) {
  if (n_shared == 0) return StreamMode::none;
  if (wanted == StreamMode::aux && (chunk > 0 || tokens > aux_threshold)) return StreamMode::none;
  return wanted;
}

}  // namespace moediff
