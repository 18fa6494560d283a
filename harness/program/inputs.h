// The tensors a group of cases starts from: generated from a seed, or taken from a capture and a checkpoint.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/core/tensor.h"
#include "harness/scenario/case.h"

namespace moediff {

/// By name. E experts, S shared, L routed, T tokens; x is the case's dtype:
///   hidden_states x [T, H]            gate_weight x [L, H]          gate_bias f32 [L]
///   w13 x [L, 2I, H]                  w2 x [L, H, I]                (gate rows, then up rows)
///   shared_w13 x [2SI, H]             shared_w2 x [H, SI]           (S > 0)
///   w13_fused, w2_fused: w13 and w2 with the shared experts as experts L..L+S-1
///   shared_ids i32 [T, S], shared_weights f32 [T, S]: the constant columns of the fused top-k buffers
using Inputs = std::map<std::string, Tensor>;

struct GroupInputs {
  Inputs tensors;
  /// The layer's output as the capture gives it, f64 [T, H]; only when nothing was rounded on the way in (f32 cases).
  std::optional<Tensor> captured_output;
};

/// Throws UserError for files that are missing, malformed or do not fit the case: file, tensor, expected, found.
GroupInputs make_inputs(const Case& spec);

/// Content hash of all tensors.
std::uint64_t hash(const Inputs& inputs);

}  // namespace moediff
