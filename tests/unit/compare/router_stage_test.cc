// The router within a layer: what its faults look like in the diff, and that the rest is compared given its choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/compare/compare.h"
#include "tests/unit/compare/program_helper.h"

namespace moediff {
namespace {

using test::LayerOptions;
using test::Memory;

constexpr int kLogits = 3, kIds = 4, kWeights = 5;

Diff compare_with(const LayerOptions& options, const test::Fault& fault,
                  const std::function<void(Inputs&)>& prepare = {}) {
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  if (prepare) prepare(*inputs);
  Expected expected(inputs);
  return compare(program, test::execute(program, *inputs, fault), expected);
}

test::Fault on_router(std::function<void(Memory&, const Step&)> change) {
  return [=](const Step& step, Memory& memory) {
    if (step.kind == StepKind::call && step.op == OpKind::router) change(memory, step);
  };
}

std::vector<std::string> failed_values(const Diff& diff, DiffMode mode = DiffMode::local) {
  std::vector<std::string> names;
  for (const StageDiff& stage : diff.stages) {
    if (stage.mode == mode && stage.failed()) names.push_back(stage.value);
  }
  return names;
}

TEST(RouterStage, AWrongExpertIsRoutingWrongAndLaterStagesAreStillCompared) {
  const Diff diff = compare_with({}, on_router([](Memory& m, const Step& step) {
                                   // The expert with the lowest logit of token 2 instead of the first choice.
                                   int lowest = 0;
                                   for (int e = 1; e < 8; ++e) {
                                     if (test::read_element(m, step.operands[kLogits], 16 + e) <
                                         test::read_element(m, step.operands[kLogits], 16 + lowest))
                                       lowest = e;
                                   }
                                   test::write_element(m, step.operands[kIds], 4, lowest);
                                 }));

  EXPECT_THAT(failed_values(diff), testing::ElementsAre("topk_ids", "topk_weights"));
  EXPECT_TRUE(diff.stages[1].routing_wrong);
  EXPECT_EQ(diff.stages[1].worst->token, 2);
  EXPECT_THAT(failed_values(diff, DiffMode::chained), testing::ElementsAre("moe_out"));  // against the expected routing
}

TEST(RouterStage, IdsOutOfRangeFailTheChoiceAndLeaveDispatchUncompared) {
  // The candidate's own dispatch drops the slot, so nothing reads out of bounds.
  const Diff diff = compare_with(
      {}, on_router([](Memory& m, const Step& step) { test::write_element(m, step.operands[kIds], 0, 8); }));

  EXPECT_TRUE(diff.stages[1].routing_wrong);
  for (const StageDiff& stage : diff.stages) {
    if (stage.stage == "dispatch" && stage.mode == DiffMode::local) {
      EXPECT_EQ(stage.not_comparable, "topk_ids holds an expert that does not exist");
    }
  }
}

TEST(RouterStage, ColumnsMayComeInAnyOrderWithTheirWeights) {
  const Diff diff = compare_with({}, on_router([](Memory& m, const Step& step) {
                                   for (const int operand : {kIds, kWeights}) {
                                     const Operand& out = step.operands[operand];
                                     const double first = test::read_element(m, out, 6),
                                                  second = test::read_element(m, out, 7);
                                     test::write_element(m, out, 6, second);
                                     test::write_element(m, out, 7, first);
                                   }
                                 }));

  EXPECT_THAT(failed_values(diff), testing::IsEmpty());
  EXPECT_THAT(failed_values(diff, DiffMode::chained), testing::IsEmpty());
}

TEST(RouterStage, WeightsSwappedBetweenExpertsAreCaught) {
  const Diff diff = compare_with({}, on_router([](Memory& m, const Step& step) {
                                   const Operand& out = step.operands[kWeights];
                                   const double first = test::read_element(m, out, 6),
                                                second = test::read_element(m, out, 7);
                                   test::write_element(m, out, 6, second);
                                   test::write_element(m, out, 7, first);
                                 }));

  EXPECT_THAT(failed_values(diff), testing::ElementsAre("topk_weights"));
}

TEST(RouterStage, AForgottenFactorIsCaught) {
  LayerOptions options;
  options.stream = StreamMode::fused;
  options.factor = 2.5;
  const Diff diff = compare_with(options, on_router([](Memory& m, const Step& step) {
                                   for (int i = 0; i < 10; ++i)
                                     test::write_element(m, step.operands[kWeights], i,
                                                         test::read_element(m, step.operands[kWeights], i) / 2.5);
                                 }));

  EXPECT_THAT(failed_values(diff), testing::ElementsAre("topk_weights"));
  EXPECT_EQ(diff.stages[2].beyond_hard, 10);
}

TEST(RouterStage, LogitsRoundedToBf16AreCaughtEvenWhereTheChoiceSurvives) {
  const Diff diff = compare_with({}, on_router([](Memory& m, const Step& step) {
                                   const Operand& out = step.operands[kLogits];
                                   for (int i = 0; i < 40; ++i)
                                     test::write_element(m, out, i, test::read_element(m, out, i) * (1 + 0x1p-10));
                                 }));

  EXPECT_THAT(failed_values(diff), testing::Contains("router_logits"));
}

TEST(RouterStage, ANearTieTakenEitherWayPassesTheWholeLayer) {
  // Experts 0 and 1 have the same gate weight and bias: every score they have is a tie. The candidate takes the higher
  // index wherever just one of them is chosen.
  const auto tie = [](Inputs& inputs) {
    Tensor& gate = inputs["gate_weight"];
    std::copy_n(gate.data.begin(), 64, gate.data.begin() + 64);
    inputs["gate_bias"].as<float>()[0] = inputs["gate_bias"].as<float>()[1] = 0.5f;
  };
  LayerOptions options;
  options.top_k = 1;
  const Diff diff = compare_with(options, on_router([](Memory& m, const Step& step) {
                                   for (int t = 0; t < 5; ++t) {
                                     if (test::read_element(m, step.operands[kIds], t) == 0)
                                       test::write_element(m, step.operands[kIds], t, 1);
                                   }
                                 }),
                                 tie);

  EXPECT_THAT(failed_values(diff), testing::IsEmpty());
  EXPECT_THAT(failed_values(diff, DiffMode::chained), testing::IsEmpty());
  EXPECT_GE(diff.stages[1].near_ties, 1);
}

TEST(RouterStage, TiesThatTheExpectedLogitsDoNotHaveAreWrong) {
  LayerOptions options;
  options.tokens = 12;
  const Diff diff =
      compare_with(options, on_router([](Memory& m, const Step& step) {
                     for (int i = 0; i < 12 * 8; ++i)
                       test::write_element(m, step.operands[kLogits], i, 0.25);  // nothing left of them
                   }),
                   [](Inputs& inputs) {
                     std::fill(inputs["gate_bias"].data.begin(), inputs["gate_bias"].data.end(), std::byte{0});
                   });

  EXPECT_EQ(diff.stages[1].near_ties, 12);
  EXPECT_TRUE(diff.stages[1].routing_wrong);
  EXPECT_EQ(diff.stages[1].beyond_statistical, 0);  // each single choice would have been legitimate
}

}  // namespace
}  // namespace moediff
