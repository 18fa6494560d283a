// The number of threads must not show in a single bit.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "reference/api.h"

namespace moediff::reference {
namespace {

constexpr std::int64_t kTokens = 37, kExperts = 5, kN = 300, kK = 700;

std::vector<double> waves(std::int64_t count, double step) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(std::sin(step * static_cast<double>(i)));
  return out;
}

struct Outputs {
  Terms gemm, combined;
  Activation activation;
};

Outputs run_with(int threads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  std::vector<Matrix> weights;
  for (int e = 0; e < kExperts; ++e) weights.emplace_back(waves(kN * kK, 0.37 + e), kN, kK);
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 2 * kTokens; ++i) ids.push_back(i * i % kExperts);
  const Dispatch sorted = dispatch(ids, kExperts);
  std::vector<std::int32_t> source;
  for (const std::int32_t slot : sorted.slots) source.push_back(slot / 2);

  Outputs out;
  out.gemm = grouped_linear(waves(kTokens * kK, 0.11), source, sorted.offsets, weights, {3});
  out.activation = silu_and_mul(out.gemm.value, 2 * kTokens, kN / 2);
  out.combined = combine(out.activation.value, sorted.rows, waves(2 * kTokens, 0.7), kTokens, 2, kN / 2);
  omp_set_num_threads(before);
  return out;
}

TEST(Threads, DoNotChangeABit) {
  const Outputs one = run_with(1), two = run_with(2), five = run_with(5);
  EXPECT_EQ(one.gemm.value, two.gemm.value);
  EXPECT_EQ(one.gemm.sum_abs, two.gemm.sum_abs);
  EXPECT_EQ(one.gemm.sum_sq_partial, five.gemm.sum_sq_partial);
  EXPECT_EQ(one.activation.value, two.activation.value);
  EXPECT_EQ(one.combined.value, two.combined.value);
  EXPECT_EQ(one.combined.value, five.combined.value);
}

}  // namespace
}  // namespace moediff::reference
