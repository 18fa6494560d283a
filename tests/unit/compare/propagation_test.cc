// Each stage of the error propagation against derivatives and roundings worked out by hand.
#include "harness/compare/bounds/propagation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/compare/bounds/accumulation.h"
#include "harness/compare/bounds/constants.h"

namespace moediff::bounds {
namespace {

using testing::ElementsAre;

Uncertain uncertain(std::vector<double> value, std::vector<double> deviation) {
  Uncertain x = exact_values(std::move(value));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.squares[i] = deviation[i] * deviation[i];
    x.hard[i] = 2 * deviation[i];
  }
  return x;
}

TEST(Propagation, AStoreAddsHalfAUnitInTheLastPlace) {
  Uncertain x = uncertain({1.9, 3.0, 2.5}, {0.1, 0, 0});
  x.value[2] = 2.501;
  store(x, DType::bf16);
  EXPECT_DOUBLE_EQ(x.squares[0], 0.1 * 0.1 + 0x1p-16);  // 1.9 lies in [1, 2): half a unit is 2^-8
  EXPECT_DOUBLE_EQ(x.squares[1], 0);                    // 3 is a bf16 and known exactly
  EXPECT_DOUBLE_EQ(x.squares[2], 0x1p-14);              // 2.501 is not; [2, 4): 2^-7
  EXPECT_GT(x.hard[0], 0.2 + 1.9 * 0x1p-8);
}

TEST(Propagation, AnFp32AccumulatorIsStoredAsItIs) {
  Uncertain x = uncertain({1.1}, {0.25});
  store(x, DType::f32);
  EXPECT_EQ(x.squares[0], 0.0625);
}

/// One matrix of one expert, applied to plain numbers.
struct Single {
  std::vector<double> values;
  std::vector<int> grid;
  reference::Matrix matrix;
  std::vector<std::int32_t> source;
  Single(std::vector<double> weight, std::int64_t n, std::int64_t k, std::vector<std::int32_t> rows)
      : values(std::move(weight)), matrix(values, n, k), source(std::move(rows)) {
    for (std::int64_t r = 0; r < n; ++r)
      grid.push_back(
          grid_exponent(std::span(values).subspan(static_cast<std::size_t>(r * k), static_cast<std::size_t>(k))));
  }
  Uncertain apply(const Uncertain& x, const Scales& scales = {}) const {
    const std::vector<LinearPart> parts{{&matrix, grid, source}};
    return linear(x, scales, matrix.k(), parts, {}, 0);
  }
};

TEST(Propagation, AGemmWeighsTheErrorsOfItsInputs) {
  const Single gemm({2, -3, 1, 0.5}, 2, 2, {1});  // the second row of x only
  const Uncertain x = uncertain({9, 9, 4, 1}, {9, 9, 0.1, 0.2});

  const Uncertain out = gemm.apply(x);

  EXPECT_THAT(out.value, ElementsAre(5, 4.5));
  EXPECT_NEAR(out.squares[0], 4 * 0.01 + 9 * 0.04, 1e-12);
  EXPECT_NEAR(out.squares[1], 0.01 + 0.25 * 0.04, 1e-12);
  EXPECT_NEAR(out.hard[0], 2 * 0.2 + 3 * 0.4, 1e-5);
}

TEST(Propagation, AGemmRoundsEachPartialSum) {
  const Uncertain out = Single({2.1, -3.1}, 1, 2, {0}).apply(exact_values({4, 1}));

  EXPECT_NEAR(out.squares[0] / (kU32 * kU32), 8.4 * 8.4 + 5.3 * 5.3, 1e-9);
  EXPECT_NEAR(out.hard[0] / kU32, 2 * (8.4 + 3.1), 1e-4);
}

TEST(Propagation, AGemmOfExactSmallIntegersHasNoError) {
  const Uncertain out = Single({2, -3, 1, 1}, 2, 2, {0}).apply(exact_values({4, 1}));
  EXPECT_THAT(out.squares, ElementsAre(0, 0));
  EXPECT_THAT(out.hard, ElementsAre(0, 0));
}

TEST(Propagation, AScaleMovesThePartialSumOfItsGroup) {
  // Codes 3, 1 | 2, 5 with scales 2 and 10; weights 1, -2 | 1, 1. Partial sums 2 and 70.
  const Single gemm({1, -2, 1, 1}, 1, 4, {0});
  const Uncertain codes = exact_values({3, 1, 2, 5}), scales = uncertain({2, 10}, {0.02, 0.3});

  const Uncertain out = gemm.apply(codes, {&scales, {2, false}});

  EXPECT_DOUBLE_EQ(out.value[0], 72);
  EXPECT_NEAR(out.squares[0], std::pow(2 * 0.01, 2) + std::pow(70 * 0.03, 2), 1e-9);
}

TEST(Propagation, ACodeThatItsErrorCannotMoveIsExact) {
  QuantSpec spec;
  spec.scheme = QuantScheme::int8_channel;
  spec.fmax = 127;
  spec.scales = ScaleKind::ue8m0;  // the scale is 1 and stays 1
  const UncertainCodes out = quantise(uncertain({100.2, 20.2, -30.45}, {0.001, 0.001, 0.01}), 1, 3, spec);

  EXPECT_THAT(out.codes.value, ElementsAre(100, 20, -30));
  EXPECT_EQ(out.codes.squares[1], 0);
  EXPECT_NEAR(out.codes.squares[2], 1e-4 + 1, 1e-9);  // its own error, and one step
  EXPECT_EQ(out.codes.flippable, 1);
}

TEST(Propagation, AScaleThatMayBeAnotherPowerOfTwoMakesItsGroupFlippable) {
  QuantSpec spec;
  spec.scheme = QuantScheme::int8_channel;
  spec.fmax = 127;
  spec.scales = ScaleKind::ue8m0;
  const UncertainCodes out = quantise(uncertain({127, 20}, {0.5, 0}), 1, 2, spec);  // 127.5 would need 2
  EXPECT_EQ(out.codes.flippable, 2);
  EXPECT_NEAR(out.codes.squares[1], 4, 1e-9);  // two steps: the codes may be those of a scale twice as large
}

TEST(Propagation, ActivationFollowsTheDerivativeOfSilu) {
  const double gate = 0.7, up = -1.3, step = 1e-6;
  const auto silu = [](double z) { return z / (1 + std::exp(-z)); };
  const double slope = (silu(gate + step) - silu(gate - step)) / (2 * step);

  const Uncertain out = gated_activation(uncertain({gate, up}, {0.01, 0.02}), 1, 1, {}, true, DType::f32);

  EXPECT_NEAR(out.squares[0], std::pow(slope * up * 0.01, 2) + std::pow(silu(gate) * 0.02, 2), 1e-10);
  EXPECT_GT(out.hard[0], std::fabs(slope * up) * 0.02 + silu(gate) * 0.04);
}

TEST(Propagation, ActivationRoundsTwice) {
  const double gate = 0.7, up = 3.0, silu = gate / (1 + std::exp(-gate));  // 0.468, times 3: 1.40
  Uncertain out = gated_activation(exact_values({gate, up}), 1, 1, {}, true, DType::bf16);
  store(out, DType::bf16);
  EXPECT_NEAR(out.squares[0], std::pow(3 * 0x1p-10, 2) + 0x1p-16, 1e-11) << silu;
}

TEST(Propagation, WeightsFollowTheLogitsOfAllChosenExperts) {
  const std::vector<std::int32_t> ids{2, 0};
  const reference::RouterConfig config{3, 2, 1, 1, true, 2.5};
  const std::vector<double> logits{0.3, 5, -0.4}, deviation{1e-3, 1, 2e-3};
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  const auto weight = [&](double z2, double z0) { return 2.5 * sigmoid(z2) / (sigmoid(z2) + sigmoid(z0)); };

  const Uncertain out = routing_weights(uncertain(logits, deviation), {}, ids, 1, config);

  const double by_own = (weight(-0.4 + 1e-6, 0.3) - weight(-0.4 - 1e-6, 0.3)) / 2e-6 * 2e-3;
  const double by_other = (weight(-0.4, 0.3 + 1e-6) - weight(-0.4, 0.3 - 1e-6)) / 2e-6 * 1e-3;
  EXPECT_NEAR(out.value[0], weight(-0.4, 0.3), 1e-12);
  EXPECT_GE(std::sqrt(out.squares[0]), std::hypot(by_own, by_other));
  EXPECT_LE(std::sqrt(out.squares[0]), 4 * std::hypot(by_own, by_other));
}

TEST(Propagation, CombineAddsTheErrorsOfRowsAndWeights) {
  const std::vector<std::int32_t> rows{1, 0};
  const Uncertain x = uncertain({2, -4}, {0.1, 0.2}), weights = uncertain({0.5, 0.25}, {0.01, 0.02});

  const Uncertain out = combine(x, rows, &weights, 1, 1, false, DType::f32);

  EXPECT_DOUBLE_EQ(out.value[0], 0.5 * -4 + 0.25 * 2);
  const double rows_part = std::pow(0.5 * 0.2, 2) + std::pow(0.25 * 0.1, 2);
  const double weights_part = std::pow(4 * 0.01 + 2 * 0.02, 2);  // they share their normalisation
  EXPECT_NEAR(out.squares[0], rows_part + weights_part, 1e-12);
}

TEST(Propagation, ScaleAddRoundsTheProductAndTheSum) {
  const Uncertain routed = uncertain({1.1}, {0.01}), shared = uncertain({5.2}, {0.03});
  const Uncertain out = scale_add(routed, &shared, 2.5, DType::bf16);
  EXPECT_DOUBLE_EQ(out.value[0], 2.5 * 1.1 + 5.2);
  // 2.75 rounds within 2^-7, 7.95 within 2^-6.
  EXPECT_NEAR(out.squares[0], 6.25 * 1e-4 + 0x1p-14 + 9e-4 + 0x1p-12, 1e-9);
}

TEST(Propagation, WithoutSharedExpertsOnlyTheProductIsRounded) {
  const Uncertain out = scale_add(exact_values({1.13}), nullptr, 2.5, DType::bf16);
  EXPECT_NEAR(out.squares[0], 0x1p-14, 1e-12);
}

}  // namespace
}  // namespace moediff::bounds
