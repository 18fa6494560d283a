// The number of threads must not show in a single bit. Sizes are such that each stage does use threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <tuple>

#include "reference/algebra.h"
#include "reference/api.h"
#include "reference/parallel.h"
#include "tests/unit/reference/numbers.h"

namespace moediff::reference {
namespace {

/// Results of `compute` with 1, 2 and 5 threads are equal.
template <typename Compute>
void expect_same_bits(const Compute& compute) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = compute();
  for (const int threads : {2, 5}) {
    omp_set_num_threads(threads);
    EXPECT_TRUE(compute() == alone) << threads << " threads";
  }
  omp_set_num_threads(before);
}

auto arrays(const Terms& terms) { return std::tuple(terms.value, terms.sum_abs, terms.sum_sq_partial); }

TEST(Threads, DoNotChangeABitOfGroupedProducts) {
  constexpr std::int64_t kTokens = 37, kExperts = 5, kN = 600, kK = 900;  // a matrix is large enough for threads too
  ASSERT_TRUE(worth_threads(kN * kK * 8));
  const std::vector<double> x = numbers(kTokens * kK, 1);
  std::vector<std::int32_t> ids, source;
  for (std::int32_t i = 0; i < 2 * kTokens; ++i) ids.push_back(i * i % static_cast<std::int32_t>(kExperts));
  const Dispatch sorted = dispatch(ids, kExperts);
  for (const std::int32_t slot : sorted.slots) source.push_back(slot / 2);
  for (const Accumulation& how : {Accumulation{}, Accumulation{2, 128, 2, 1}, Accumulation{3, 0, 0, 2, true}}) {
    expect_same_bits([&] {
      std::vector<Matrix> weights;
      for (std::uint32_t e = 0; e < kExperts; ++e) weights.emplace_back(numbers(kN * kK, 7 + e), kN, kK);
      return arrays(grouped_linear(x, source, sorted.offsets, weights, how));
    });
  }
}

TEST(Threads, DoNotChangeABitOfActivations) {
  constexpr std::int64_t kRows = 70, kInter = 2000;
  ASSERT_TRUE(worth_threads(kRows * kInter * 32));
  const std::vector<double> gate_up = numbers(kRows * 2 * kInter, 2);
  expect_same_bits([&] {
    const Activation out = gated_activation(ActivationKind::gelu_tanh, 7.0, gate_up, kRows, kInter);
    return std::tuple(out.act, out.dact, out.factor, out.dfactor, out.value);
  });
}

TEST(Threads, DoNotChangeABitOfCombinedRows) {
  constexpr std::int64_t kTokens = 40, kWidth = 4, kHidden = 30000;
  ASSERT_TRUE(worth_threads(kTokens * kWidth * kHidden));
  const std::vector<double> x = numbers(9 * kHidden, 3), weights = numbers(kTokens * kWidth, 4);
  std::vector<std::int32_t> rows;
  for (std::int32_t i = 0; i < kTokens * kWidth; ++i) rows.push_back(i * 7 % 9);
  expect_same_bits([&] { return arrays(combine(x, rows, weights, kTokens, kWidth, kHidden)); });
}

TEST(Threads, DoNotChangeABitOfDequantisedWeights) {
  constexpr std::int64_t kN = 512, kK = 600;
  ASSERT_TRUE(worth_threads(kN * kK * 16));
  QuantSpec spec;
  spec.scheme = QuantScheme::int4_group;
  const QuantisedWeight stored = quantise_weight(numbers(kN * kK, 5), kN, kK, spec, false, DType::bf16);
  expect_same_bits([&] {
    return weight_values({kN, kK, stored.codes, stored.scales, stored.sn, stored.sk}, spec, false, DType::bf16);
  });
}

TEST(Threads, DoNotChangeAnElementOfTheField) {
  constexpr std::int64_t kRows = 30, kN = 50, kK = 800;
  ASSERT_TRUE(worth_threads(kRows * kN * kK * 4));
  std::vector<algebra::Element> x, weight;
  for (std::uint64_t i = 0; i < kRows * kK; ++i) x.push_back(i * i * i * 12345 % algebra::kPrime);
  for (std::uint64_t i = 0; i < kN * kK; ++i) weight.push_back(i * i * 98765 % algebra::kPrime);
  std::vector<std::int32_t> source;
  for (std::int32_t r = 0; r < kRows; ++r) source.push_back(r);
  const std::vector<std::int32_t> offsets{0, kRows};
  algebra::Linear job;
  job.x = x;
  job.weight = weight;
  job.n = kN;
  job.k = kK;
  job.source = source;
  job.offsets = offsets;
  expect_same_bits([&] { return algebra::linear(job); });
}

}  // namespace
}  // namespace moediff::reference
