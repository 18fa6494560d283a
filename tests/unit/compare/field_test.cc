// Algebra mode: byte for byte, whatever the order of summation; any other difference shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/unit/compare/diff_helper.h"

namespace moediff {
namespace {

using test::compare_layer;
using test::failed_stages;
using test::Fault;
using test::LayerOptions;
using test::Memory;
using test::stage_of;

LayerOptions in_field(std::function<void(LayerOptions&)> change = {}) {
  LayerOptions options;
  options.arithmetic = Arithmetic::field;
  options.factor = 2.5;
  if (change) change(options);
  return options;
}

/// Flips one bit of element `index` of an output.
Fault flip(OpKind op, std::size_t operand, std::int64_t index) {
  return [=](const Step& step, Memory& m) {
    if (step.kind != StepKind::call || step.op != op) return;
    const test::View out(m, step.operands[operand]);
    out.set_element(index, out.element(index) ^ 1);
  };
}

class HealthyField : public testing::TestWithParam<QuantScheme> {};

TEST_P(HealthyField, AgreesInEveryByteThoughItSumsFromTheEnd) {
  for (const StreamMode stream : {StreamMode::none, StreamMode::aux, StreamMode::fused}) {
    const LayerOptions options = in_field([&](auto& o) {
      o.stream = stream;
      o.residual = true;
      o.quant.scheme = GetParam();
      o.quant.group = 8;  // the fused experts end where their blocks end
      o.quant.quantize_a2 = stream == StreamMode::aux ? QuantizeA2::fused : QuantizeA2::separate;
      o.expert.activation = ActivationKind::gelu;
      if (GetParam() != QuantScheme::mxfp4 && stream == StreamMode::none) o.split_k = 2;
    });
    const Diff diff = compare_layer(options).diff;

    EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::IsEmpty());
    EXPECT_EQ(diff.worst_chained, 0);
    EXPECT_EQ(stage_of(diff, "layer_out", DiffMode::chained).compared, 5 * 32);
    for (const StageDiff& stage : diff.stages) {
      EXPECT_EQ(stage.not_comparable, "") << stage.value;
      EXPECT_TRUE(stage.exact) << stage.value;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, HealthyField,
                         testing::Values(QuantScheme::none, QuantScheme::fp8_block, QuantScheme::fp8_tensor,
                                         QuantScheme::fp8_channel, QuantScheme::int8_channel),
                         [](const auto& named) { return std::string(to_string(named.param)); });

TEST(Field, OneBitFailsWhereItArisesAndEndToEnd) {
  const Diff diff = compare_layer(in_field(), flip(OpKind::gemm2, 3, 40)).diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("gemm2/gemm2_out"));
  EXPECT_EQ(stage_of(diff, "gemm2_out").beyond_hard, 1);
  EXPECT_EQ(stage_of(diff, "moe_out", DiffMode::chained).beyond_hard, 1);
  EXPECT_DOUBLE_EQ(diff.worst_chained, 1.0 / (5 * 32));  // the share of elements that differ
}

TEST(Field, AWrongScaleFailsAtTheScaleAlone) {
  const LayerOptions options = in_field([](auto& o) {
    o.quant.scheme = QuantScheme::fp8_block;
    o.quant.group = 8;
  });
  const Fault fault = [](const Step& step, Memory& m) {
    if (step.kind != StepKind::call || step.op != OpKind::quantize_a2) return;
    // A scale of its own, with the codes that belong to it: code * scale is what it was.
    const test::View codes(m, step.operands[1]), scales(m, step.operands[2]);
    constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1, kHalf = (kPrime + 1) / 2;
    scales.set_element(0, (scales.element(0) * 2) % kPrime);
    __extension__ using Wide = unsigned __int128;
    for (std::int64_t i = 0; i < 8; ++i)
      codes.set_element(i, static_cast<std::uint64_t>(Wide{codes.element(i)} * kHalf % kPrime));
  };
  const Diff diff = compare_layer(options, fault).diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("quantize_a2/a2_scales"));
  EXPECT_EQ(diff.worst_chained, 0);  // the product is the same
}

TEST(Field, AnotherActivationIsAnotherPolynomial) {
  const LayerOptions options = in_field();
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  Program other = program;
  for (Step& step : other.steps) {
    if (step.kind == StepKind::call && step.op == OpKind::activation)
      step.params.expert.activation = ActivationKind::gelu_tanh;
  }
  Expected expected(inputs);
  const Diff diff = compare(program, test::execute(other, *inputs), expected);

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("activation/act_out"));
  EXPECT_EQ(diff.worst_chained, 1);  // not one element of the output is left
}

TEST(Field, FusedAndUnfusedGiveTheSameBits) {
  const auto outputs = [](StreamMode stream) {
    const LayerOptions options = in_field([&](auto& o) { o.stream = stream; });
    return compare_layer(options).diff.output_actual;
  };
  const std::vector<double> unfused = outputs(StreamMode::none), fused = outputs(StreamMode::fused);

  ASSERT_EQ(unfused.size(), 5u * 32u);
  for (std::size_t i = 0; i < unfused.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(unfused[i]), std::bit_cast<std::uint64_t>(fused[i]));
}

}  // namespace
}  // namespace moediff
