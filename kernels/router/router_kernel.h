// Group-limited top-k by ranks: one block a token. Each thread counts, for its experts, how many others come before it;
// that number is the expert's place. No sorting, no order among threads: the outcome is a function of the choices
// alone.
#pragma once

#include "kernels/router/scores.h"

namespace moediff::kernels {

/// A token's scores in dynamic shared memory.
struct RouterScratch {
  float* choice;       // [max(experts, kThreads)]; before the choices exist, parts of the softmax
  float* group_score;  // [n_group]
  float* weight;       // [top_k] of the winners, before normalisation
};

__host__ __device__ inline std::int64_t choice_floats(std::int64_t experts) {
  return experts < kThreads ? kThreads : experts;
}

inline std::size_t router_scratch_bytes(std::int64_t experts, const RouterPolicy& policy) {
  return static_cast<std::size_t>(choice_floats(experts) + policy.n_group + policy.top_k) * sizeof(float);
}

__device__ inline RouterScratch router_scratch(float* memory, std::int64_t experts, const RouterPolicy& policy) {
  float* group_score = memory + choice_floats(experts);
  return {memory, group_score, group_score + policy.n_group};
}

/// How many of values[0, count) come before values[index]: the larger ones, and equal ones with a lower index. Without
/// NaN the ranks are a permutation.
__device__ inline int rank_of(const float* values, std::int64_t count, std::int64_t index) {
  const float mine = values[index];
  int rank = 0;
  for (std::int64_t i = 0; i < index; ++i) rank += values[i] >= mine ? 1 : 0;
  for (std::int64_t i = index + 1; i < count; ++i) rank += values[i] > mine ? 1 : 0;
  return rank;
}

__device__ inline float nan_as_least(float x) { return x == x ? x : -INFINITY; }

__device__ inline float score_of_group(const float* choices, std::int64_t count, int kind) {
  float first = choices[0], second = -INFINITY;
  for (std::int64_t i = 1; i < count; ++i) {
    second = fmaxf(second, fminf(first, choices[i]));
    first = fmaxf(first, choices[i]);
  }
  return kind == MD_GROUP_MAX || count == 1 ? first : nan_as_least(first + second);
}

/// One token: logits and bias (or null) to scores and choices, by the policy.
template <typename T, typename L>
struct TokenScores {
  const L* logits;
  const float* bias;
  RouterPolicy policy;
  RowScale row;

  __device__ float fresh(std::int64_t e) const { return score_of(to_float(logits[e]), policy.scoring, row); }
  __device__ float score(std::int64_t e) const { return kept<T>(fresh(e), policy.round_score); }
  __device__ float added(std::int64_t e) const { return bias == nullptr ? 0.0f : kept<T>(bias[e], policy.round_bias); }
  __device__ float choice(std::int64_t e) const { return kept<T>(score(e) + added(e), policy.round_choice); }
  __device__ float weight(std::int64_t e) const {
    switch (policy.weight_from) {
      case MD_WEIGHT_FRESH_SCORE:
        return fresh(e);
      case MD_WEIGHT_CHOICE_MINUS_BIAS:
        return choice(e) - added(e);
      default:
        return score(e);
    }
  }
};

/// Gives every expert outside the best groups the choice of the mask. The rank of a group is counted anew for each of
/// its experts: no more work than the ranks of the experts, and no memory.
__device__ inline void mask_groups(std::int64_t experts, const RouterPolicy& policy, RouterScratch at) {
  const std::int64_t size = experts / policy.n_group;
  for (int g = static_cast<int>(threadIdx.x); g < policy.n_group; g += kThreads) {
    at.group_score[g] = score_of_group(at.choice + g * size, size, policy.group_score);
  }
  __syncthreads();
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
    if (rank_of(at.group_score, policy.n_group, e / size) < policy.topk_group) continue;
    at.choice[e] = policy.mask == MD_MASK_ZERO ? 0.0f : -INFINITY;
  }
  __syncthreads();
}

/// Are fewer than top_k choices finite? Every thread counts all of them, and before any is masked.
__device__ inline bool falls_back(std::int64_t experts, const RouterPolicy& policy, const float* choice) {
  if (!policy.uniform_fallback) return false;
  int finite = 0;
  for (std::int64_t e = 0; e < experts; ++e) finite += fabsf(choice[e]) < INFINITY ? 1 : 0;
  return finite < policy.top_k;
}

template <typename T>
__device__ inline void write_uniform(const RouterPolicy& policy, std::int32_t* ids, float* weights) {
  for (int j = static_cast<int>(threadIdx.x); j < policy.top_k; j += kThreads) {
    ids[j] = j;
    weights[j] = kept<T>(1.0f / static_cast<float>(policy.top_k), policy.round_weight);
  }
}

template <typename T>
__device__ inline void write_weights(const RouterPolicy& policy, const float* winners, float* weights) {
  float sum = 0.0f;  // every thread adds all of them in the order of the columns, so that the order is fixed
  for (int i = 0; i < policy.top_k; ++i) sum += winners[i];
  for (int j = static_cast<int>(threadIdx.x); j < policy.top_k; j += kThreads) {
    const float weight = policy.norm_topk_prob ? winners[j] / (sum + policy.norm_epsilon) : winners[j];
    weights[j] = kept<T>(weight * policy.factor, policy.round_weight);
  }
}

/// The body of the kernel for one token. `place_of(rank)` is the column that the expert with this rank goes to, or -1;
/// the identity below top_k, for a correct router.
template <typename T, typename L, typename PlaceOf>
__device__ void select_experts(const L* logits, const float* bias, std::int64_t experts, const RouterPolicy& policy,
                               RouterScratch at, std::int32_t* ids, float* weights, PlaceOf place_of) {
  TokenScores<T, L> token{logits, bias, policy, {}};
  if (policy.scoring == MD_SCORING_SOFTMAX) token.row = softmax_scale(logits, experts, at.choice);
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) at.choice[e] = nan_as_least(token.choice(e));
  __syncthreads();
  if (falls_back(experts, policy, at.choice)) return write_uniform<T>(policy, ids, weights);
  if (policy.topk_group < policy.n_group) mask_groups(experts, policy, at);
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
    const int place = place_of(rank_of(at.choice, experts, e));
    if (place < 0) continue;
    ids[place] = static_cast<std::int32_t>(e);
    at.weight[place] = token.weight(e);
  }
  __syncthreads();
  write_weights<T>(policy, at.weight, weights);
}

}  // namespace moediff::kernels
