// The logistic function in fp32, to full relative accuracy over its whole range.
#pragma once

#include "kernels/hip/platform.h"

namespace moediff::kernels {

/// 1 / (1 + e^-x). The exponential never overflows, so that small results are no zeros: for negative x it is
/// e^x / (1 + e^x). With expf within 1 ulp the relative error is below 4 * 2^-24, plus half the smallest subnormal
/// where the result is subnormal.
__device__ inline float sigmoid(float x) {
  if (x < 0.0f) {
    const float e = expf(x);
    return e / (1.0f + e);
  }
  return 1.0f / (1.0f + expf(-x));
}

}  // namespace moediff::kernels
