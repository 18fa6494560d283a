// Healthy candidates of every quantisation scheme, activation, sum and router policy, on data of every kind, pass; and
// power-of-two data leave the linear stages no room at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program/quant_layout.h"
#include "tests/unit/compare/diff_helper.h"

namespace moediff {
namespace {

using test::compare_layer;
using test::failed_stages;
using test::LayerOptions;
using test::stage_of;
using test::with;

struct Named {
  std::string name;
  LayerOptions options;
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.name; }
std::string name_of(const testing::TestParamInfo<Named>& named) { return named.param.name; }

LayerOptions of_scheme(QuantScheme scheme, std::function<void(LayerOptions&)> change = {}) {
  LayerOptions options;
  options.tokens = 7;
  options.hidden = 44;  // no multiple of the group
  options.inter = 20;
  options.quant.scheme = scheme;
  options.quant.group = 16;
  if (change) change(options);
  return options;
}

void expect_clean(const LayerOptions& options) {
  const Diff diff = compare_layer(options).diff;
  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::IsEmpty());
  EXPECT_THAT(failed_stages(diff, DiffMode::chained), testing::IsEmpty());
  for (const StageDiff& stage : diff.stages) {
    EXPECT_EQ(stage.not_comparable, "") << stage.value;
    EXPECT_GT(stage.compared, 0) << stage.value;
    EXPECT_EQ(stage.beyond_hard, 0) << stage.value;
    EXPECT_LE(stage.error_ratio_median, 1.5) << stage.value;
  }
}

class HealthyScheme : public testing::TestWithParam<Named> {};

TEST_P(HealthyScheme, PassesOnDataOfEveryKind) {
  for (const Distribution distribution :
       {Distribution::normal, Distribution::heavy_tailed, Distribution::cancelling, Distribution::near_tie,
        Distribution::subnormal, Distribution::huge_range, Distribution::integers}) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
      // Integers times scales above 1 grow beyond f16 from one product to the next.
      if (distribution == Distribution::integers && dtype == DType::f16) continue;
      LayerOptions options = GetParam().options;
      options.distribution = distribution;
      options.integers = distribution == Distribution::integers;
      options.dtype = dtype;
      if (distribution == Distribution::subnormal) options.quant.amax_floor = 1e-30;
      SCOPED_TRACE(std::string(to_string(distribution)) + " " + std::string(to_string(dtype)));
      expect_clean(options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schemes, HealthyScheme,
    testing::Values(Named{"fp8_block", of_scheme(QuantScheme::fp8_block)},
                    Named{"fp8_block_ue8m0_fused", of_scheme(QuantScheme::fp8_block,
                                                             [](auto& o) {
                                                               o.quant.scales = ScaleKind::ue8m0;
                                                               o.quant.quantize_a2 = QuantizeA2::fused;
                                                             })},
                    Named{"fp8_block_fnuz_224_split", of_scheme(QuantScheme::fp8_block,
                                                                [](auto& o) {
                                                                  o.quant.fp8 = Fp8Kind::e4m3fnuz;
                                                                  o.quant.fmax = 224;
                                                                  o.quant.scale_from = ScaleFrom::reciprocal;
                                                                  o.split_k = 2;
                                                                })},
                    Named{"fp8_tensor",
                          of_scheme(QuantScheme::fp8_tensor, [](auto& o) { o.quant.scale_by = ScaleBy::reciprocal; })},
                    Named{
                        "fp8_channel_weight_in_gemm2",
                        of_scheme(QuantScheme::fp8_channel, [](auto& o) { o.router.weight_on = WeightPlace::gemm2; })},
                    Named{"int8_away_ratio_fused", of_scheme(QuantScheme::int8_channel,
                                                             [](auto& o) {
                                                               o.quant.half_to = HalfTo::away;
                                                               o.quant.scale_by = ScaleBy::ratio;
                                                               o.quant.quantize_a2 = QuantizeA2::fused;
                                                             })},
                    Named{"int8_weight_in_gemm1", of_scheme(QuantScheme::int8_channel,
                                                            [](auto& o) { o.router.weight_on = WeightPlace::gemm1; })},
                    Named{"int4", of_scheme(QuantScheme::int4_group,
                                            [](auto& o) {
                                              o.quant.shared = SharedWeights::model;
                                              o.router.weight_on = WeightPlace::gemm2;
                                            })},
                    Named{"mxfp4", of_scheme(QuantScheme::mxfp4)}, Named{"plain", of_scheme(QuantScheme::none)}),
    name_of);

class HealthyPolicy : public testing::TestWithParam<Named> {};

TEST_P(HealthyPolicy, PassesForManySeeds) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    LayerOptions options = GetParam().options;
    options.seed = seed;
    options.tokens = 17;
    expect_clean(options);
  }
}

LayerOptions of_router(std::function<void(RouterPolicy&)> change) {
  return with([&](LayerOptions& o) { change(o.router); });
}
LayerOptions of_experts(std::function<void(ExpertPolicy&)> change) {
  return with([&](LayerOptions& o) {
    o.dtype = DType::bf16;
    change(o.expert);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Policies, HealthyPolicy,
    testing::Values(Named{"softmax", of_router([](auto& r) {
                            r.scoring = Scoring::softmax;
                            r.bias = false;
                          })},
                    Named{"all_in_model", of_router([](auto& r) {
                            r.logits_in = r.scores_in = r.bias_in = r.choice_in = r.weights_in = KeptIn::model;
                          })},
                    Named{"choice_minus_bias",
                          of_router([](auto& r) { r.weight_from = WeightSource::choice_minus_bias; })},
                    Named{"fresh_score_epsilon", of_router([](auto& r) {
                            r.scores_in = KeptIn::model;
                            r.weight_from = WeightSource::fresh_score;
                            r.norm_epsilon = 1e-20;
                          })},
                    Named{"groups_max_zero_mask", with([](auto& o) {
                            o.experts = 16;
                            o.n_group = 4;
                            o.topk_group = 2;
                            o.router.group_score = GroupScore::max;
                            o.router.mask = MaskValue::zero;
                          })},
                    Named{"weight_on_input", with([](auto& o) {
                            o.top_k = 1;
                            o.norm_topk_prob = false;
                            o.router.weight_on = WeightPlace::input;
                          })},
                    Named{"weight_in_gemm1", with([](auto& o) { o.router.weight_on = WeightPlace::gemm1; })},
                    Named{"gelu", of_experts([](auto& e) { e.activation = ActivationKind::gelu; })},
                    Named{"gelu_tanh_once", of_experts([](auto& e) {
                            e.activation = ActivationKind::gelu_tanh;
                            e.activation_rounding = ActivationRounding::once;
                          })},
                    Named{"swiglu_clamped", of_experts([](auto& e) {
                            e.activation = ActivationKind::swiglu_clamped;
                            e.limit = 0.5;
                          })},
                    Named{"swigluoai", of_experts([](auto& e) {
                            e.activation = ActivationKind::swigluoai;
                            e.limit = 0.7;
                          })},
                    Named{"moe_sum", of_experts([](auto& e) { e.sum = CombineSum::moe_sum; })}),
    name_of);

class ExactScheme : public testing::TestWithParam<QuantScheme> {};

TEST_P(ExactScheme, LinearStagesCompareExactlyOnSmallIntegersAndPowerOfTwoScales) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    LayerOptions options = of_scheme(GetParam());
    options.integers = true;
    options.dtype = dtype;
    options.quant.scales = ScaleKind::ue8m0;
    const Diff diff = compare_layer(options).diff;

    for (const char* value : {"gemm1_out", "shared_gemm1_out"}) {
      const StageDiff stage = stage_of(diff, value);
      EXPECT_TRUE(stage.exact) << value << " " << to_string(dtype);
      EXPECT_EQ(stage.budget_used, 0) << value << " " << to_string(dtype);
      EXPECT_EQ(stage.error_ratio_median, 0) << value;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, ExactScheme,
                         testing::Values(QuantScheme::none, QuantScheme::fp8_block, QuantScheme::fp8_tensor,
                                         QuantScheme::fp8_channel, QuantScheme::int8_channel, QuantScheme::int4_group,
                                         QuantScheme::mxfp4),
                         [](const auto& named) { return std::string(to_string(named.param)); });

}  // namespace
}  // namespace moediff
