// Group-limited top-k by ranks: one block a token. Each thread counts, for its experts, how many others come before it;
// that number is the expert's place. No sorting, no order among threads: the outcome is a function of the choices
// alone.
#pragma once

#include "kernels/router/router.h"

namespace moediff::kernels {

/// A token's scores in dynamic shared memory.
struct RouterScratch {
  float* score;        // [experts]
  float* choice;       // [experts]
  float* group_score;  // [n_group]
  float* group_open;   // [n_group] 1: among the topk_group best
  float* weight;       // [top_k] of the winners, before normalisation
};

inline std::size_t router_scratch_bytes(std::int64_t experts, const RouterPolicy& policy) {
  return static_cast<std::size_t>(2 * experts + 2 * policy.n_group + policy.top_k) * sizeof(float);
}

__device__ inline RouterScratch router_scratch(float* memory, std::int64_t experts, const RouterPolicy& policy) {
  float* group_score = memory + 2 * experts;
  return {memory, memory + experts, group_score, group_score + policy.n_group, group_score + 2 * policy.n_group};
}

/// How many of values[0, count) come before values[index]: the larger ones, and equal ones with a lower index.
__device__ inline int rank_of(const float* values, std::int64_t count, std::int64_t index) {
  const float mine = values[index];
  int rank = 0;
  for (std::int64_t i = 0; i < index; ++i) rank += values[i] >= mine ? 1 : 0;
  for (std::int64_t i = index + 1; i < count; ++i) rank += values[i] > mine ? 1 : 0;
  return rank;
}

__device__ inline float sum_of_two_largest(const float* values, std::int64_t count) {
  float first = values[0];
  if (count == 1) return first;
  float second = -INFINITY;
  for (std::int64_t i = 1; i < count; ++i) {
    if (values[i] > first) {
      second = first;
      first = values[i];
    } else if (values[i] > second) {
      second = values[i];
    }
  }
  return first + second;
}

__device__ inline void score_experts(const float* logits, const float* bias, std::int64_t experts, RouterScratch at) {
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
    const float score = 1.0f / (1.0f + expf(-logits[e]));
    const float choice = score + bias[e];
    at.score[e] = score;
    at.choice[e] = choice == choice ? choice : -INFINITY;
  }
  __syncthreads();
}

/// Sets the choice of every expert outside the best groups to -infinity.
__device__ inline void mask_groups(std::int64_t experts, const RouterPolicy& policy, RouterScratch at) {
  const std::int64_t size = experts / policy.n_group;
  for (int g = static_cast<int>(threadIdx.x); g < policy.n_group; g += kThreads) {
    at.group_score[g] = sum_of_two_largest(at.choice + g * size, size);
  }
  __syncthreads();
  for (int g = static_cast<int>(threadIdx.x); g < policy.n_group; g += kThreads) {
    at.group_open[g] = rank_of(at.group_score, policy.n_group, g) < policy.topk_group ? 1.0f : 0.0f;
  }
  __syncthreads();
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
    if (at.group_open[e / size] == 0.0f) at.choice[e] = -INFINITY;
  }
  __syncthreads();
}

/// The body of the kernel for one token. `place_of(rank)` is the column that the expert with this rank goes to, or -1;
/// the identity below top_k, for a correct router.
template <typename PlaceOf>
__device__ void select_experts(const float* logits, const float* bias, std::int64_t experts, const RouterPolicy& policy,
                               RouterScratch at, std::int32_t* ids, float* weights, PlaceOf place_of) {
  score_experts(logits, bias, experts, at);
  if (policy.topk_group < policy.n_group) mask_groups(experts, policy, at);
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
    const int place = place_of(rank_of(at.choice, experts, e));
    if (place < 0) continue;
    ids[place] = static_cast<std::int32_t>(e);
    at.weight[place] = at.score[e];
  }
  __syncthreads();
  for (int j = static_cast<int>(threadIdx.x); j < policy.top_k; j += kThreads) {
    float sum = 0.0f;  // every thread adds all of them in slot order, so that the order is fixed
    for (int i = 0; i < policy.top_k; ++i) sum += at.weight[i];
    weights[j] = (policy.norm_topk_prob ? at.weight[j] / sum : at.weight[j]) * policy.factor;
  }
}

}  // namespace moediff::kernels
