// A small, complete case to build Programs from.
#pragma once

#include "harness/scenario/case.h"
#include "harness/scenario/effective_stream.h"

namespace moediff {

inline Case layer_case() {
  Case spec;
  spec.id = "test/case";
  spec.scenario = "test.yaml";
  spec.shape = {.hidden = 16,
                .inter = 8,
                .experts = 4,
                .top_k = 2,
                .n_group = 1,
                .topk_group = 1,
                .n_shared = 1,
                .norm_topk_prob = true,
                .routed_scaling_factor = 2.5};
  spec.seed = 7;
  spec.dtype = DType::bf16;
  spec.tokens = 5;
  return spec;
}

inline Case with_stream(Case spec, StreamMode mode) {
  spec.stream = mode;
  spec.effective_stream = effective_stream(mode, spec.tokens, spec.chunk, spec.aux_threshold, spec.shape.n_shared);
  return spec;
}

}  // namespace moediff
