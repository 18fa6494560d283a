// The tensors a group of cases starts from: generated from a seed, or taken from a capture and a checkpoint.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/core/tensor.h"
#include "harness/scenario/case.h"

namespace moediff {

/// By name. E experts, S shared, L routed, T tokens; x is the case's dtype (algebra mode: field):
///   hidden_states x [T, H]            gate_weight x [L, H]          gate_bias f32 [L] (router.bias)
///   w13 [L, 2I, H], w2 [L, H, I]      x, or codes of quant.scheme (gate rows, then up rows)
///   w13_scales, w2_scales [L, sn, sk] and w13_offset, w2_offset [L, n, 1], where the scheme has them
///   shared_w13 [2SI, H], shared_w2 [H, SI] and theirs (S > 0)
///   every one of w13*, w2* with the suffix _fused: with the shared experts as experts L..L+S-1
///   shared_ids i32 [T, S], shared_weights f32 [T, S]: the constant columns of the fused top-k buffers
///   algebra mode: topk_ids i32 [T, k], topk_weights [T, k], and topk_weights_scaled = field_factor * topk_weights
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
