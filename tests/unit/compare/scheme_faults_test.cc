// One defect at a time in the quantised ops and in the policies: each fails where it arises, and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/compare/diff_helper.h"

namespace moediff {
namespace {

using test::compare_layer;
using test::failed_stages;
using test::Fault;
using test::LayerOptions;
using test::Memory;
using test::on_output;
using test::read_element;
using test::stage_of;
using test::with;
using test::write_element;

std::vector<std::string> local_failures(const LayerOptions& options, const Fault& fault) {
  return failed_stages(compare_layer(options, fault).diff, DiffMode::local);
}

LayerOptions fp8(std::function<void(LayerOptions&)> change = {}) {
  LayerOptions options;
  options.tokens = 9;
  options.hidden = 64;
  options.inter = 48;
  options.quant.scheme = QuantScheme::fp8_block;
  options.quant.group = 16;
  if (change) change(options);
  return options;
}

/// Another candidate: ops whose parameters were changed behind the Program's back.
Diff compare_with_params(const LayerOptions& options, OpKind op, std::function<void(OpParams&)> change) {
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  Program other = program;
  for (Step& step : other.steps) {
    if (step.kind == StepKind::call && step.op == op) change(step.params);
  }
  Expected expected(inputs);
  return compare(program, test::execute(other, *inputs), expected);
}

TEST(SchemeFaults, AWrongScaleFailsAtTheScaleAndNotAtItsCodes) {
  // The codes are those of the right scale, so some of the group's 16 may be wrong as well, given the stored one.
  const Fault fault = on_output(OpKind::quantize_a1, 2, [](Memory& m, const Operand& out) {
    write_element(m, out, 5, read_element(m, out, 5) * 1.0625);
  });
  const Diff diff = compare_layer(fp8(), fault).diff;

  EXPECT_TRUE(stage_of(diff, "a1_scales").failed());
  EXPECT_EQ(stage_of(diff, "a1_scales").beyond_statistical, 1);
  EXPECT_FALSE(stage_of(diff, "gemm1_out").failed());  // right, given codes and scales
}

TEST(SchemeFaults, CodesOfAWrongScaleAreRightForIt) {
  const Diff diff = compare_with_params(fp8(), OpKind::quantize_a1, [](OpParams& p) { p.quant.fmax = 224; });
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("quantize_a1/a1_scales"));
  EXPECT_GT(stage_of(diff, "a1_scales").beyond_hard, 30);
}

TEST(SchemeFaults, AScaleOffByOneUlpOfADivisionIsAllowedAndByFourIsNot) {
  const auto moved = [](int ulps) {
    return on_output(OpKind::quantize_a1, 2, [=](Memory& m, const Operand& out) {
      float scale = static_cast<float>(read_element(m, out, 3));
      for (int i = 0; i < ulps; ++i) scale = std::nextafter(scale, 1e9f);
      write_element(m, out, 3, scale);
    });
  };
  EXPECT_FALSE(stage_of(compare_layer(fp8(), moved(1)).diff, "a1_scales").failed());
  EXPECT_TRUE(stage_of(compare_layer(fp8(), moved(4)).diff, "a1_scales").failed());
}

TEST(SchemeFaults, AScaleThatIsNoPowerOfTwoFailsWhereItMustBeOne) {
  const LayerOptions options = fp8([](auto& o) { o.quant.scales = ScaleKind::ue8m0; });
  const Fault fault = on_output(OpKind::quantize_a1, 2, [](Memory& m, const Operand& out) {
    write_element(m, out, 2, read_element(m, out, 2) * (1 + 0x1p-20));
  });
  EXPECT_TRUE(stage_of(compare_layer(options, fault).diff, "a1_scales").failed());
}

TEST(SchemeFaults, OneCodeOffByAStepIsCaught) {
  const Fault fault = on_output(OpKind::quantize_a1, 1, [](Memory& m, const Operand& out) {
    auto& code = m[static_cast<std::size_t>(out.buffer)][70];  // row 1
    code = std::byte{static_cast<unsigned char>(std::to_integer<unsigned>(code) ^ 1u)};
  });
  EXPECT_THAT(local_failures(fp8(), fault), testing::ElementsAre("quantize_a1/a1_codes"));
}

TEST(SchemeFaults, AFlippedCodeIsNotReportedDownstreamAndAWrongScaleIs) {
  // act_out moves by one ulp of bf16 where that carries it over the boundary between two codes: all that follows is
  // right for the codes that were stored.
  std::int64_t flipped = 0;
  const Fault one_ulp = [&](const Step& step, Memory& m) {
    if (step.kind != StepKind::call || step.op != OpKind::activation) return;
    for (std::int64_t i = 0; i < 18 * 48; ++i) {
      const double y = read_element(m, step.operands[1], i);
      const double moved = i % 2 == 0 ? y : y * (1 + 0x1p-7);
      write_element(m, step.operands[1], i, moved);
      flipped += moved != y ? 1 : 0;
    }
  };
  const Diff diff = compare_layer(fp8(), one_ulp).diff;
  EXPECT_GT(flipped, 100);
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("activation/act_out"));

  const Fault wrong_scale = on_output(OpKind::quantize_a2, 2, [](Memory& m, const Operand& out) {
    write_element(m, out, 4, read_element(m, out, 4) * 2);
  });
  EXPECT_THAT(local_failures(fp8(), wrong_scale), testing::Contains("quantize_a2/a2_scales"));
}

TEST(SchemeFaults, OneScaleBlockShiftedIsCaught) {
  const Fault fault = [](const Step& step, Memory& m) {
    if (step.kind != StepKind::call || step.op != OpKind::dispatch) return;
    auto& scales = m[4];  // of w13, before gemm1 reads them
    std::rotate(scales.begin(), scales.begin() + 4, scales.end());
  };
  ASSERT_EQ(test::build_layer(fp8()).buffers[4].name, "w13_scales");
  const Diff diff = compare_layer(fp8(), fault).diff;
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("gemm1/gemm1_out"));
  EXPECT_FALSE(stage_of(diff, "gemm1_out", DiffMode::as_read).failed());  // right math on the wrong scales
}

TEST(SchemeFaults, HalvesOfTheWeightTakenAsOneAreCaught) {
  // 48 rows a half and blocks of 32: the second half begins in the middle of a block.
  const LayerOptions options = fp8([](auto& o) { o.quant.group = 32; });
  const Diff diff = compare_with_params(options, OpKind::gemm1, [](OpParams& p) { p.halves = false; });
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("gemm1/gemm1_out"));
}

TEST(SchemeFaults, OneUlpIsCaughtOnExactDataOfEveryScheme) {
  for (const QuantScheme scheme : {QuantScheme::fp8_block, QuantScheme::fp8_channel, QuantScheme::int8_channel,
                                   QuantScheme::int4_group, QuantScheme::mxfp4}) {
    LayerOptions options = fp8([&](auto& o) { o.quant.scheme = scheme; });
    options.integers = true;
    options.quant.scales = ScaleKind::ue8m0;
    options.dtype = DType::f32;
    const Fault fault = on_output(OpKind::gemm1, 4, [](Memory& m, const Operand& out) {
      const auto value = static_cast<float>(read_element(m, out, 10));
      write_element(m, out, 10, std::nextafter(value, 1e9f));
    });
    const StageDiff gemm1 = stage_of(compare_layer(options, fault).diff, "gemm1_out");
    EXPECT_EQ(gemm1.beyond_hard, 1) << to_string(scheme);
  }
}

TEST(SchemeFaults, HalvesRoundedToEvenAreCaughtWhereTheyMustGoAway) {
  LayerOptions options = fp8([](auto& o) {
    o.quant.scheme = QuantScheme::int8_channel;
    o.quant.half_to = HalfTo::away;
    o.quant.amax_floor = 254;  // the scale is 2: odd integers lie half-way
  });
  options.integers = true;
  const Diff diff =
      compare_with_params(options, OpKind::quantize_a1, [](OpParams& p) { p.quant.half_to = HalfTo::even; });
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("quantize_a1/a1_codes"));
}

TEST(SchemeFaults, ACodeBeyondFmaxIsCaught) {
  const LayerOptions options = fp8([](auto& o) {
    o.quant.fp8 = Fp8Kind::e4m3fnuz;
    o.quant.fmax = 224;
  });
  const Fault fault = on_output(OpKind::quantize_a1, 1, [](Memory& m, const Operand& out) {
    for (std::int64_t i = 0; i < 64; ++i) {
      if (std::fabs(read_element(m, out, i)) == 224) write_element(m, out, i, 240);
    }
  });
  EXPECT_THAT(local_failures(options, fault), testing::ElementsAre("quantize_a1/a1_codes"));
}

TEST(SchemeFaults, FusedCodesOffByTwoStepsAreCaughtAndTheBoundaryOnesCounted) {
  const LayerOptions options = fp8([](auto& o) { o.quant.quantize_a2 = QuantizeA2::fused; });
  const Fault fault = on_output(OpKind::activation_quantize, 1, [](Memory& m, const Operand& out) {
    write_element(m, out, 7, read_element(m, out, 7) * 1.25 + 0.5);
  });
  const Diff wrong = compare_layer(options, fault).diff;
  EXPECT_THAT(failed_stages(wrong, DiffMode::local), testing::ElementsAre("activation_quantize/a2_codes"));
  // Of 864 codes with an error near 1e-6 of a step hardly any lies on a boundary; end to end, in bf16, many do.
  EXPECT_LE(stage_of(wrong, "a2_codes").flippable, 3);
  EXPECT_GT(stage_of(wrong, "moe_out", DiffMode::chained).flippable, 50);
}

struct PolicyFault {
  const char* name;
  LayerOptions options;
  OpKind op;
  std::function<void(OpParams&)> change;
  std::string failure;
};
void PrintTo(const PolicyFault& fault, std::ostream* out) { *out << fault.name; }
class PolicyFaults : public testing::TestWithParam<PolicyFault> {};

TEST_P(PolicyFaults, FailWhereThePolicySaysOtherwise) {
  const PolicyFault& fault = GetParam();
  const Diff diff = compare_with_params(fault.options, fault.op, fault.change);
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::Contains(fault.failure));
}

LayerOptions many_tokens(std::function<void(LayerOptions&)> change = {}) {
  LayerOptions options;
  options.tokens = 64;
  options.experts = 16;
  options.top_k = 4;
  if (change) change(options);
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Of, PolicyFaults,
    testing::Values(
        PolicyFault{"gelu_for_gelu_tanh", many_tokens([](auto& o) { o.expert.activation = ActivationKind::gelu_tanh; }),
                    OpKind::activation, [](auto& p) { p.expert.activation = ActivationKind::gelu; },
                    "activation/act_out"},
        PolicyFault{"rounded_once", many_tokens(), OpKind::activation,
                    [](auto& p) { p.expert.activation_rounding = ActivationRounding::once; }, "activation/act_out"},
        PolicyFault{"clamp_forgotten", many_tokens([](auto& o) {
                      o.expert.activation = ActivationKind::swiglu_clamped;
                      o.expert.limit = 0.5;
                    }),
                    OpKind::activation, [](auto& p) { p.expert.activation = ActivationKind::silu; },
                    "activation/act_out"},
        PolicyFault{"moe_sum_for_fp32", many_tokens(), OpKind::combine,
                    [](auto& p) { p.expert.sum = CombineSum::moe_sum; }, "combine/routed_out"},
        PolicyFault{"fp32_for_moe_sum", many_tokens([](auto& o) { o.expert.sum = CombineSum::moe_sum; }),
                    OpKind::combine, [](auto& p) { p.expert.sum = CombineSum::fp32; }, "combine/routed_out"},
        PolicyFault{"factor_twice", many_tokens([](auto& o) { o.factor = 2.5; }), OpKind::router,
                    [](auto& p) { p.factor = 2.5; }, "router/topk_weights"},
        PolicyFault{"bias_in_bf16",
                    many_tokens([](auto& o) { o.router.weight_from = WeightSource::choice_minus_bias; }),
                    OpKind::router, [](auto& p) { p.router.choice_in = KeptIn::model; }, "router/topk_weights"},
        PolicyFault{"scores_in_bf16", many_tokens(), OpKind::router,
                    [](auto& p) { p.router.scores_in = KeptIn::model; }, "router/topk_weights"},
        PolicyFault{"weights_in_bf16", many_tokens(), OpKind::router,
                    [](auto& p) { p.router.weights_in = KeptIn::model; }, "router/topk_weights"},
        PolicyFault{"softmax_for_sigmoid", many_tokens(), OpKind::router,
                    [](auto& p) { p.router.scoring = Scoring::softmax; }, "router/topk_weights"},
        PolicyFault{"not_normalised", many_tokens(), OpKind::router, [](auto& p) { p.norm_topk_prob = false; },
                    "router/topk_weights"},
        PolicyFault{"group_maximum", many_tokens([](auto& o) {
                      o.n_group = 4;
                      o.topk_group = 2;
                    }),
                    OpKind::router, [](auto& p) { p.router.group_score = GroupScore::max; }, "router/topk_ids"},
        PolicyFault{"mask_of_zero", many_tokens([](auto& o) {
                      o.n_group = 8;
                      o.topk_group = 2;
                      o.router.scoring = Scoring::softmax;  // with the bias, many choices are negative
                    }),
                    OpKind::router, [](auto& p) { p.router.mask = MaskValue::zero; }, "router/topk_ids"}),
    [](const auto& named) { return std::string(named.param.name); });

TEST(SchemeFaults, ABiasThatWasRoundedChangesTheChoice) {
  // Two experts whose biases differ by less than bf16 sees decide between themselves.
  const LayerOptions options = many_tokens([](auto& o) { o.top_k = 1; });
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  Tensor& gate = inputs->at("gate_weight");
  std::copy_n(gate.data.begin(), 64, gate.data.begin() + 64);
  inputs->at("gate_bias").as<float>()[0] = 2.0f;
  inputs->at("gate_bias").as<float>()[1] = 2.001f;
  Program other = program;
  other.steps[static_cast<std::size_t>(test::step_named(program, "router"))].params.router.bias_in = KeptIn::model;
  Expected expected(inputs);

  const Diff diff = compare(program, test::execute(other, *inputs), expected);

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::Contains("router/topk_ids"));
  EXPECT_EQ(stage_of(diff, "topk_ids").beyond_statistical, 64);
}

TEST(SchemeFaults, TheToleranceThatWouldHaveSufficedIsReported) {
  const Fault fault =
      on_output(OpKind::shared_gemm2, 2, [](Memory& m, const Operand& out) { write_element(m, out, 3, 4); });
  const Diff diff = compare_layer({}, fault).diff;
  const StageDiff stage = stage_of(diff, "shared_out");
  ASSERT_TRUE(stage.worst);
  const double t = std::fabs(stage.worst->actual - stage.worst->expected) / (1 + std::fabs(stage.worst->expected));
  EXPECT_DOUBLE_EQ(stage.sufficient_tolerance, t);
  EXPECT_GT(t, 0.5);
}

TEST(SchemeFaults, TypicalErrorsAreHalfTheirExpectation) {
  LayerOptions options = fp8([](auto& o) { o.tokens = 40; });
  const Diff diff = compare_layer(options).diff;
  for (const char* value : {"gemm1_out", "act_out", "gemm2_out", "moe_out", "a1_codes", "a2_codes"}) {
    EXPECT_GT(stage_of(diff, value).error_ratio_median, 0.3) << value;
    EXPECT_LT(stage_of(diff, value).error_ratio_median, 0.7) << value;
  }
}

TEST(SchemeFaults, NaNInARowIsNotHeldAgainstItsQuantisation) {
  const LayerOptions options = fp8();
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  inputs->at("hidden_states").as<std::uint16_t>()[64 + 5] = 0x7fc0;
  Expected expected(inputs);

  const Diff diff = compare(program, test::execute(program, *inputs), expected);

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::IsEmpty());
  EXPECT_EQ(stage_of(diff, "a1_scales").compared, 9 * 4 - 1);
}

}  // namespace
}  // namespace moediff
