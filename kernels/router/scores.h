// Scores of a token's experts, one block a token: sigmoid of each logit, or softmax over all of them.
#pragma once

#include "kernels/hip/bf16.h"
#include "kernels/hip/sigmoid.h"
#include "kernels/router/router.h"

namespace moediff::kernels {

/// What the softmax of a row is made of; unused with sigmoid.
struct RowScale {
  float largest, sum;
};

/// In `partial` [kThreads] each thread has left its part; all threads read all of it, in one order.
__device__ inline float largest_of(const float* partial) {
  float largest = partial[0];
  for (int i = 1; i < kThreads; ++i) largest = fmaxf(largest, partial[i]);
  return largest;
}

/// By halves, so that 64 parts cost 6 roundings and not 63.
__device__ inline float sum_of(const float* partial) {
  float sum[kThreads / 2];
  for (int i = 0; i < kThreads / 2; ++i) sum[i] = partial[i] + partial[i + kThreads / 2];
  for (int half = kThreads / 4; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sum[i] += sum[i + half];
  }
  return sum[0];
}

/// Largest logit and sum of exponentials, the same in every thread. The order of the sum depends on the number of
/// experts alone. A NaN or +infinity makes the sum NaN.
template <typename L>
__device__ RowScale softmax_scale(const L* logits, std::int64_t experts, float* partial) {
  float largest = -INFINITY;
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) largest = fmaxf(largest, to_float(logits[e]));
  partial[threadIdx.x] = largest;
  __syncthreads();
  largest = largest_of(partial);
  __syncthreads();
  float sum = 0.0f;
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) sum += expf(to_float(logits[e]) - largest);
  partial[threadIdx.x] = sum;
  __syncthreads();
  sum = sum_of(partial);
  __syncthreads();
  return {largest, sum};
}

/// Not rounded.
__device__ inline float score_of(float logit, int scoring, RowScale row) {
  return scoring == MD_SCORING_SIGMOID ? sigmoid(logit) : expf(logit - row.largest) / row.sum;
}

/// `x` as it is kept.
template <typename T>
__device__ inline float kept(float x, bool rounds) {
  return rounds ? rounded_to<T>(x) : x;
}

}  // namespace moediff::kernels
