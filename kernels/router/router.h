// Expert selection from router logits; the logits themselves are a GEMM (gemm/gemm.h).
#pragma once

#include "kernels/abi/moediff_abi.h"
#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// The fields of md_params that decide a selection; enumerations are those of kernels/abi/moediff_abi.h.
struct RouterPolicy {
  int top_k, n_group, topk_group;
  bool norm_topk_prob;
  float factor, norm_epsilon;
  int scoring, group_score, mask, weight_from;
  bool round_score, round_bias, round_choice, round_weight;  ///< kept in the model dtype
  bool uniform_fallback;
};

/// Most experts + n_group + top_k: what a token needs in shared memory, 64 KiB of floats.
inline constexpr std::int64_t kMaxRouterFloats = 16384;

RouterPolicy router_policy(const md_params& params);

/// Per token, in fp32:
///   score   sigmoid of each logit, or softmax over all (less the largest logit) [rounded to T]
///   choice  score + bias [each rounded to T]; bias null: the score. A NaN counts as -infinity
///   groups  the topk_group groups with the largest scores (sum of the two largest choices, or the largest) are in; the
///           choices of the others become -infinity or 0
///   ids     the top_k largest choices in descending order; the lower index goes first on every tie
///   weights from score, fresh score or choice - bias; over (their sum in this order + norm_epsilon) if
///           norm_topk_prob; times factor [rounded to T]
/// With uniform_fallback a token with fewer than top_k finite choices gets ids 0, 1, ... and weights 1 / top_k.
/// Ids are distinct and in range for every input. ids and weights are [T, top_k] with row strides of their own;
/// logits.columns is the number of experts, a multiple of n_group. T is the model dtype; instantiated for logits L of
/// float or T, with T float, Bf16 or F16.
///
/// Relative errors of scores, with u = 2^-24 and E experts up to 4096: sigmoid 4 u; softmax (E / 64 + 20 + largest
/// logit
/// - logit) u; plus half the smallest subnormal each.
template <typename T, typename L>
hipError_t launch_select_experts(Matrix<const L> logits, const float* bias, const RouterPolicy& policy,
                                 Matrix<std::int32_t> ids, Matrix<float> weights, hipStream_t stream);

}  // namespace moediff::kernels
