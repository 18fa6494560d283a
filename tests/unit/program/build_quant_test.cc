// What quantisation schemes, routing policies and algebra mode add to a layer's Program.
#include <gtest/gtest.h>

#include "harness/program/build.h"
#include "harness/program/inputs.h"
#include "harness/program/rewrite.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

Case quantised(QuantScheme scheme) {
  Case spec = layer_case();
  spec.shape.hidden = 20;
  spec.shape.inter = 12;
  spec.quant.scheme = scheme;
  spec.quant.group = 8;
  return spec;
}

const Step& step_named(const Program& p, const std::string& name) {
  const int step = find_step(p, name);
  EXPECT_GE(step, 0) << name;
  return p.steps[static_cast<std::size_t>(std::max(step, 0))];
}

const Operand& operand(const Step& step, std::string_view slot) {
  return step.operands[static_cast<std::size_t>(slot_index(step.op, slot))];
}

bool has(const Program& p, const std::string& name) { return find_step(p, name) >= 0; }

TEST(BuildQuantised, BlockScalesCutGateAndUpRowsSeparately) {
  const Program p = build_moe_layer(quantised(QuantScheme::fp8_block));
  const Step& gemm1 = step_named(p, "gemm1");
  EXPECT_EQ(operand(gemm1, "w13").dtype, DType::f8_e4m3fn);
  EXPECT_EQ(operand(gemm1, "w13").shape, (Shape{4, 24, 20}));
  EXPECT_EQ(operand(gemm1, "w13_scales").shape, (Shape{4, 4, 3})) << "ceil(12 / 8) twice, ceil(20 / 8)";
  EXPECT_EQ(operand(gemm1, "a1_scales").shape, (Shape{5, 3}));
  EXPECT_EQ(operand(step_named(p, "gemm2"), "w2_scales").shape, (Shape{4, 3, 2}));
  EXPECT_TRUE(gemm1.params.halves);
  EXPECT_FALSE(step_named(p, "gemm2").params.halves);
  EXPECT_EQ(step_named(p, "quantize_a1").params.quant.fmax, 448);
}

TEST(BuildQuantised, GemmsReadTheCodesOfTheirOwnActivations) {
  const Program p = build_moe_layer(quantised(QuantScheme::int8_channel));
  const auto value_of = [&](const char* step, const char* slot) {
    return p.values[static_cast<std::size_t>(operand(step_named(p, step), slot).values.at(0))].name;
  };
  EXPECT_EQ(value_of("gemm1", "hidden_states"), "a1_codes");
  EXPECT_EQ(value_of("gemm2", "act_out"), "a2_codes");
  EXPECT_EQ(value_of("gemm2", "a2_scales"), "a2_scales");
  EXPECT_EQ(value_of("shared_gemm1", "hidden_states"), "shared_a1_codes");
  EXPECT_EQ(value_of("shared_gemm2", "shared_act_out"), "shared_a2_codes");
  EXPECT_EQ(value_of("gemm1", "w13_offset"), "w13_offset");
  EXPECT_EQ(operand(step_named(p, "gemm1"), "a1_scales").shape, (Shape{5, 1}));
}

TEST(BuildQuantised, WeightOnlySchemesPackTwoCodesAByteAndLeaveActivationsAlone) {
  Case spec = quantised(QuantScheme::int4_group);
  spec.shape.hidden = 21;
  const Program p = build_moe_layer(spec);
  EXPECT_FALSE(has(p, "quantize_a1"));
  const Step& gemm1 = step_named(p, "gemm1");
  EXPECT_EQ(operand(gemm1, "w13").dtype, DType::u8);
  EXPECT_EQ(operand(gemm1, "w13").shape, (Shape{4, 24, 11}));
  EXPECT_EQ(operand(gemm1, "w13_scales").shape, (Shape{4, 24, 3}));
  EXPECT_EQ(operand(gemm1, "w13_scales").dtype, DType::bf16);
  spec.quant.scheme = QuantScheme::mxfp4;
  EXPECT_EQ(operand(step_named(build_moe_layer(spec), "gemm1"), "w13_scales").dtype, DType::f8_e8m0);
}

TEST(BuildQuantised, SharedExpertsMayStayInTheModelDtype) {
  Case spec = quantised(QuantScheme::fp8_channel);
  spec.quant.shared = SharedWeights::model;
  const Program p = build_moe_layer(spec);
  EXPECT_TRUE(has(p, "quantize_a1"));
  EXPECT_FALSE(has(p, "shared_quantize_a1"));
  EXPECT_EQ(operand(step_named(p, "shared_gemm1"), "shared_w13").dtype, DType::bf16);
  EXPECT_EQ(step_named(p, "shared_gemm1").params.quant.scheme, QuantScheme::none);
}

TEST(BuildQuantised, TheSecondQuantisationMayBePartOfTheActivation) {
  Case spec = quantised(QuantScheme::fp8_block);
  spec.quant.quantize_a2 = QuantizeA2::fused;
  const Program p = build_moe_layer(spec);
  EXPECT_FALSE(has(p, "activation"));
  EXPECT_FALSE(has(p, "quantize_a2"));
  EXPECT_EQ(operand(step_named(p, "activation_quantize"), "a2_codes").shape, (Shape{10, 12}));
}

TEST(BuildPolicies, RoutingWeightsGoToTheOpThatAppliesThem) {
  struct Place {
    WeightPlace place;
    const char* step;
  };
  for (const Place& at : {Place{WeightPlace::combine, "combine"}, Place{WeightPlace::gemm2, "gemm2"},
                          Place{WeightPlace::gemm1, "gemm1"}, Place{WeightPlace::input, "weigh_input"}}) {
    Case spec = layer_case();
    spec.shape.top_k = 1;
    spec.router.weight_on = at.place;
    const Program p = build_moe_layer(spec);
    int readers = 0;
    for (const Step& step : p.steps) {
      if (step.kind != StepKind::call || step.op == OpKind::router) continue;
      const int slot = slot_index(step.op, "topk_weights");
      if (slot < 0 || step.operands[static_cast<std::size_t>(slot)].buffer < 0) continue;
      ++readers;
      EXPECT_EQ(step.name, at.step);
    }
    EXPECT_EQ(readers, 1) << at.step;
  }
}

TEST(BuildPolicies, TheFactorIsAppliedOnce) {
  Case spec = layer_case();
  Program p = build_moe_layer(spec);
  EXPECT_EQ(step_named(p, "router").params.factor, 1.0);
  EXPECT_EQ(step_named(p, "scale_add").params.factor, 2.5);
  spec.router.factor = FactorPlace::router;
  p = build_moe_layer(spec);
  EXPECT_EQ(step_named(p, "router").params.factor, 2.5);
  EXPECT_EQ(step_named(p, "scale_add").params.factor, 1.0);
}

TEST(BuildAlgebra, HasNoRouterAndOnlyFieldElementsAndIntegers) {
  for (const QuantScheme scheme : {QuantScheme::none, QuantScheme::fp8_block, QuantScheme::int4_group}) {
    Case spec = quantised(scheme);
    spec.arithmetic = Arithmetic::field;
    const Program p = build_moe_layer(spec);
    EXPECT_TRUE(find_calls(p, OpKind::router).empty());
    for (const Value& value : p.values) {
      EXPECT_TRUE(value.dtype == DType::field || value.dtype == DType::i32) << value.name;
    }
    const Inputs inputs = make_inputs(spec).tensors;
    for (const Value& value : p.values) {
      if (!value.initial.empty()) EXPECT_EQ(inputs.at(value.initial).shape, value.shape) << value.initial;
    }
  }
}

TEST(BuildQuantised, EverySchemeUnderEveryConfigurationFindsItsInputs) {
  int built = 0;
  for (const QuantRow& scheme : kQuantSchemes) {
    for (const StreamMode mode : {StreamMode::none, StreamMode::aux, StreamMode::fused}) {
      for (const std::int64_t chunk : {0, 2}) {
        for (const Arithmetic arithmetic : {Arithmetic::floating, Arithmetic::field}) {
          Case spec = quantised(scheme.scheme);
          spec.chunk = chunk;
          spec.arithmetic = arithmetic;
          spec.split_k = 2;
          const Program p = build_moe_layer(with_stream(spec, mode));
          const Inputs inputs = make_inputs(spec).tensors;
          for (const Value& value : p.values) {
            if (value.initial.empty()) continue;
            ASSERT_EQ(inputs.count(value.initial), 1u) << value.initial;
            EXPECT_EQ(inputs.at(value.initial).shape, value.shape) << value.initial;
            EXPECT_EQ(inputs.at(value.initial).dtype, value.dtype) << value.initial;
          }
          ++built;
        }
      }
    }
  }
  EXPECT_EQ(built, 84);
}

}  // namespace
}  // namespace moediff
