// The ends of the number range, and what cannot be said there: overflow on the way, sums of zero, rows without numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/compare/bounds/acceptance.h"
#include "harness/compare/bounds/activation.h"
#include "harness/compare/bounds/propagation.h"
#include "tests/unit/compare/diff_helper.h"

namespace moediff {
namespace {

using bounds::Acceptance;
using bounds::Level;
using test::failed_stages;
using test::LayerOptions;
using test::Memory;
using test::stage_of;
using test::with;

constexpr int kLogits = 3, kIds = 4, kWeights = 5;

Diff compare_on(const LayerOptions& options, const std::function<void(Inputs&)>& prepare,
                const test::Fault& fault = {}) {
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  prepare(*inputs);
  Expected expected(inputs);
  return compare(program, test::execute(program, *inputs, fault), expected);
}

test::Fault on_router(std::function<void(Memory&, const Step&)> change) {
  return [=](const Step& step, Memory& memory) {
    if (step.kind == StepKind::call && step.op == OpKind::router) change(memory, step);
  };
}

TEST(Extremes, OfTwoPowersOfTwoNothingBetweenIsRight) {
  QuantSpec spec;
  spec.scheme = QuantScheme::fp8_block;
  spec.fmax = 448;
  spec.scales = ScaleKind::ue8m0;
  Acceptance a;
  a.form = RoundingRow::Form::scale;
  a.quant = spec;
  a.inner = {448 * 0.25 * (1 + 0x1p-24)};  // the quotient rounds to 2^-2 or just above
  a.value = {0.25};
  a.delta = {{}};
  EXPECT_TRUE(bounds::accepts(a, 0, 0.25, 1, Level::statistical));
  EXPECT_TRUE(bounds::accepts(a, 0, 0.5, 1, Level::statistical));
  EXPECT_FALSE(bounds::accepts(a, 0, 0.375, 1, Level::statistical));
  a.inner = {448 * 0.25 * 1.01};
  EXPECT_FALSE(bounds::accepts(a, 0, 0.25, 1, Level::statistical));
}

TEST(Extremes, APartialSumThatOverflowsLeavesNothingToSay) {
  // 1e38 * 4 - 1e38 * 4 + … overflows on the way in fp32, though the sum is small.
  const LayerOptions options = with([](auto& o) { o.dtype = DType::f32; });
  const Diff diff = compare_on(options, [](Inputs& inputs) {
    const auto x = inputs.at("hidden_states").as<float>(), w = inputs.at("shared_w13").as<float>();
    x[0] = x[1] = 1e38f;
    w[0] = 4;
    w[1] = -4;
  });
  EXPECT_FALSE(stage_of(diff, "shared_gemm1_out").failed());
  EXPECT_LT(stage_of(diff, "shared_gemm1_out").compared, 5 * 48);
  EXPECT_THAT(failed_stages(diff, DiffMode::chained), testing::IsEmpty());
}

TEST(Extremes, AProductWithAScaleMayOverflowBeforeTheSmallOne) {
  // sum * sa is beyond FLT_MAX although (sum * sa) * sb is not.
  const LayerOptions options = with([](auto& o) {
    o.dtype = DType::f32;
    o.quant.scheme = QuantScheme::fp8_channel;
  });
  const Diff diff = compare_on(options, [](Inputs& inputs) {
    for (float& x : inputs.at("hidden_states").as<float>()) x *= 1e36f;
  });
  EXPECT_FALSE(stage_of(diff, "gemm1_out").failed());
  EXPECT_EQ(stage_of(diff, "gemm1_out").not_finite, 0);
}

TEST(Extremes, AnF16LayerThatOverflowsIsNotWrongEndToEnd) {
  const LayerOptions options = with([](auto& o) {
    o.dtype = DType::f16;
    o.factor = 1000;
  });
  const Diff diff = compare_on(options, [](Inputs& inputs) {
    Tensor& x = inputs.at("hidden_states");
    std::vector<double> values = to_doubles(x);
    for (double& v : values) v *= 40;
    x = from_doubles(x.dtype, x.shape, values);
  });
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::IsEmpty());
  EXPECT_THAT(failed_stages(diff, DiffMode::chained), testing::IsEmpty());
  EXPECT_LT(stage_of(diff, "moe_out", DiffMode::chained).compared, 5 * 32);
  EXPECT_GT(stage_of(diff, "moe_out", DiffMode::chained).compared, 0);
}

TEST(Extremes, ScoresThatVanishMayBeDividedByTheirSum) {
  const test::Fault fault = on_router([](Memory& m, const Step& step) {
    for (int e = 0; e < 8; ++e) test::write_element(m, step.operands[kLogits], 8 + e, -200);
    for (int j = 0; j < 2; ++j) {
      test::write_element(m, step.operands[kIds], 2 + j, j);
      test::write_element(m, step.operands[kWeights], 2 + j, NAN);
    }
  });
  const Diff diff = compare_on(
      {}, [](Inputs& inputs) { std::ranges::fill(inputs.at("gate_bias").data, std::byte{}); }, fault);
  EXPECT_EQ(stage_of(diff, "topk_weights").beyond_statistical, 0);
  EXPECT_EQ(stage_of(diff, "topk_weights").not_finite, 0);
  EXPECT_EQ(stage_of(diff, "topk_weights").compared, 5 * 2 - 2);
}

TEST(Extremes, AnEpsilonMakesTheSumOfVanishingScoresComparable) {
  const test::Fault fault = on_router([](Memory& m, const Step& step) {
    for (int e = 0; e < 8; ++e) test::write_element(m, step.operands[kLogits], 8 + e, -200);
    for (int j = 0; j < 2; ++j) {
      test::write_element(m, step.operands[kIds], 2 + j, j);
      test::write_element(m, step.operands[kWeights], 2 + j, 0.5);  // as if the epsilon had been forgotten
    }
  });
  const LayerOptions options = with([](auto& o) { o.router.norm_epsilon = 1e-20; });
  const Diff diff = compare_on(
      options, [](Inputs& inputs) { std::ranges::fill(inputs.at("gate_bias").data, std::byte{}); }, fault);
  EXPECT_EQ(stage_of(diff, "topk_weights").beyond_statistical, 2);
}

TEST(Extremes, ARowWithoutNumbersFallsBackToUniformWeightsExactly) {
  const LayerOptions options = with([](auto& o) { o.router.not_finite = NotFinite::uniform; });
  const auto nan_row = [](Inputs& inputs) { inputs.at("hidden_states").as<std::uint16_t>()[0] = 0x7fc0; };
  EXPECT_FALSE(stage_of(compare_on(options, nan_row), "topk_weights").failed());
  EXPECT_FALSE(stage_of(compare_on(options, nan_row), "topk_ids").failed());

  const test::Fault other_weight = on_router(
      [](Memory& m, const Step& step) { test::write_element(m, step.operands[kWeights], 0, 0.5 * (1 + 0x1p-20)); });
  EXPECT_EQ(stage_of(compare_on(options, nan_row, other_weight), "topk_weights").beyond_hard, 1);
  const test::Fault other_id =
      on_router([](Memory& m, const Step& step) { test::write_element(m, step.operands[kIds], 0, 5); });
  EXPECT_TRUE(stage_of(compare_on(options, nan_row, other_id), "topk_ids").routing_wrong);
}

TEST(Extremes, LogitsWhoseOwnErrorDecidesTiesAreNoLossOfPrecision) {
  // Pairs of gate rows that differ in one element by 2^-20: margins of the order of the logits' own error.
  const LayerOptions options = with([](auto& o) {
    o.dtype = DType::f32;
    o.tokens = 200;
    o.hidden = 128;
    o.top_k = 1;
    o.router.bias = false;
    o.distribution = Distribution::near_tie;
  });
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    LayerOptions seeded = options;
    seeded.seed = seed;
    const StageDiff choice = stage_of(compare_on(seeded, [](Inputs&) {}), "topk_ids");
    EXPECT_FALSE(choice.routing_wrong) << choice.near_ties;
    EXPECT_GT(choice.near_ties, 10);
  }
}

TEST(Extremes, LogitsMovedWithinTheirBoundMayTieWhereTheExpectedOnesDoNot) {
  // Experts 2i and 2i+1 are 8e-6 apart in every logit: more than the error of their scores, less than that of a logit.
  const LayerOptions options = with([](auto& o) {
    o.dtype = DType::f32;
    o.tokens = 40;
    o.hidden = 1024;
    o.top_k = 1;
    o.router.bias = false;
  });
  const auto pairs = [](Inputs& inputs) {
    const auto gate = inputs.at("gate_weight").as<float>();
    for (std::size_t e = 1; e < 8; e += 2) {
      std::copy_n(gate.begin() + static_cast<std::ptrdiff_t>((e - 1) * 1024), 1024,
                  gate.begin() + static_cast<std::ptrdiff_t>(e * 1024));
      gate[e * 1024] += 8e-6f;
    }
    for (std::size_t t = 0; t < 40; ++t) inputs.at("hidden_states").as<float>()[t * 1024] = 1;
  };
  const test::Fault equalise = on_router([](Memory& m, const Step& step) {
    for (int i = 1; i < 40 * 8; i += 2)
      test::write_element(m, step.operands[kLogits], i, test::read_element(m, step.operands[kLogits], i - 1));
    for (int t = 0; t < 40; ++t)
      test::write_element(m, step.operands[kIds], t,
                          static_cast<int>(test::read_element(m, step.operands[kIds], t)) / 2 * 2);
  });

  EXPECT_LT(stage_of(compare_on(options, pairs), "topk_ids").near_ties, 10);
  const StageDiff tied = stage_of(compare_on(options, pairs, equalise), "topk_ids");
  EXPECT_EQ(tied.near_ties, 40);
  EXPECT_FALSE(tied.routing_wrong);
}

TEST(Extremes, ACodeGivenAScaleThatIsTooSmallIsClamped) {
  // The scale is half of what it should be and the codes are made with it: those that would exceed fmax are fmax.
  const LayerOptions options = with([](auto& o) {
    o.quant.scheme = QuantScheme::fp8_channel;
    o.quant.fp8 = Fp8Kind::e4m3fnuz;
    o.quant.fmax = 224;
  });
  const test::Fault fault = [](const Step& step, Memory& m) {
    if (step.kind != StepKind::call || step.op != OpKind::quantize_a1) return;
    const test::View x(m, step.operands[0]), codes(m, step.operands[1]), scales(m, step.operands[2]);
    scales.set(0, scales.get(0) / 2);
    for (std::int64_t i = 0; i < 32; ++i) codes.set(i, std::clamp(x.get(i) / scales.get(0), -224.0f, 224.0f));
  };
  const Diff diff = compare_on(
      options, [](Inputs&) {}, fault);
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("quantize_a1/a1_scales"));
}

TEST(Extremes, AFarNegativeGateLeavesGeluNoError) {
  EXPECT_LT(bounds::activation_error(ActivationKind::gelu, 7, -40, -0.0), 1e-40);
  EXPECT_LT(bounds::activation_error(ActivationKind::gelu_tanh, 7, -1e20, -0.0), 1e-40);
}

TEST(Extremes, NearTheLargestNumberAStoreMayOverflow) {
  bounds::Uncertain x = bounds::exact_values({65510, 60000});
  x.squares = {1, 1};
  x.hard = {2, 2};
  bounds::store(x, DType::f16);
  EXPECT_TRUE(std::isinf(bounds::statistical_bound(x, 0)));
  EXPECT_LT(bounds::statistical_bound(x, 1), 400);
}

TEST(Extremes, PoliciesOfTheSameOpAreNotTakenForEachOther) {
  // One group's Expected serves cases that differ in nothing but a policy.
  LayerOptions options;
  const Program silu = test::build_layer(options);
  options.expert.activation = ActivationKind::gelu;
  const Program gelu = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(silu, options);
  Expected expected(inputs);

  const Diff first = compare(silu, test::execute(silu, *inputs), expected),
             second = compare(gelu, test::execute(gelu, *inputs), expected),
             crossed = compare(gelu, test::execute(silu, *inputs), expected);

  EXPECT_THAT(failed_stages(first, DiffMode::local), testing::IsEmpty());
  EXPECT_THAT(failed_stages(second, DiffMode::local), testing::IsEmpty());
  EXPECT_TRUE(stage_of(crossed, "act_out").failed());
}

}  // namespace
}  // namespace moediff
