// Expert selection from router logits; the logits themselves are a GEMM (gemm/gemm.h).
#pragma once

#include "kernels/hip/tensor.h"

namespace moediff::kernels {

struct RouterPolicy {
  int top_k, n_group, topk_group;
  bool norm_topk_prob;
  float factor;
};

/// Per token, in fp32: s = 1 / (1 + expf(-logit)), choice = s + bias; a group's score is the sum of its two largest
/// choices (of its only one); experts outside the topk_group best groups are out; the top_k largest choices win. The
/// lower index goes first on every tie. weights = s, over their sum in slot order if norm_topk_prob, times factor. A
/// NaN choice counts as -infinity, so that ids are distinct and in range for every input. ids and weights are [T,
/// top_k] with row strides of their own; logits.columns is the number of experts, a multiple of n_group.
hipError_t launch_select_experts(Matrix<const float> logits, const float* bias, const RouterPolicy& policy,
                                 Matrix<std::int32_t> ids, Matrix<float> weights, hipStream_t stream);

}  // namespace moediff::kernels
