// The comparator end to end: healthy candidates of every configuration pass; what was not compared is visible.
#include "harness/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/program/rewrite.h"
#include "tests/unit/compare/diff_helper.h"

namespace moediff {
namespace {

using test::compare_layer;
using test::failed_stages;
using test::Fault;
using test::LayerOptions;
using test::Memory;
using test::on_output;
using test::stage_of;
using test::with;

struct Named {
  const char* name;
  LayerOptions options;
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.name; }

class HealthyCandidate : public testing::TestWithParam<Named> {};

TEST_P(HealthyCandidate, StaysWellInsideItsBudgetInEveryStage) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    LayerOptions options = GetParam().options;
    options.seed = seed;

    const Diff diff = compare_layer(options).diff;

    EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::IsEmpty());
    EXPECT_THAT(failed_stages(diff, DiffMode::chained), testing::IsEmpty());
    for (const StageDiff& stage : diff.stages) {
      EXPECT_EQ(stage.not_comparable, "") << stage.value;
      EXPECT_GT(stage.compared, 0) << stage.value;
      EXPECT_GT(stage.nonzero, 0) << stage.value;
      EXPECT_LT(stage.budget_used, 0.75) << stage.value;
    }
    EXPECT_GT(diff.worst_chained, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Configurations, HealthyCandidate,
                         testing::Values(Named{"bf16", {}}, Named{"f32", with([](auto& o) { o.dtype = DType::f32; })},
                                         Named{"fused", with([](auto& o) {
                                                 o.stream = StreamMode::fused;
                                                 o.n_shared = 2;
                                                 o.factor = 2.5;
                                               })},
                                         Named{"aux", with([](auto& o) {
                                                 o.stream = StreamMode::aux;
                                                 o.in_place = true;
                                                 o.split_k = 3;
                                               })},
                                         Named{"chunked", with([](auto& o) {
                                                 o.chunk = 2;
                                                 o.factor = 2.827;
                                                 o.residual = true;
                                               })},
                                         Named{"chunked_fused", with([](auto& o) {
                                                 o.chunk = 2;
                                                 o.stream = StreamMode::fused;
                                                 o.in_place = true;
                                               })},
                                         Named{"no_shared", with([](auto& o) {
                                                 o.n_shared = 0;
                                                 o.factor = 2.5;
                                               })},
                                         Named{"groups", with([](auto& o) {
                                                 o.experts = 16;
                                                 o.n_group = 4;
                                                 o.topk_group = 2;
                                                 o.tokens = 17;
                                               })},
                                         Named{"one_token", with([](auto& o) { o.tokens = 1; })},
                                         Named{"wide", with([](auto& o) {
                                                 o.hidden = 256;
                                                 o.inter = 64;
                                               })}),
                         [](const auto& named) { return std::string(named.param.name); });

TEST(Compare, ExactDataLeaveNoBudgetInLinearStages) {
  LayerOptions options;
  options.integers = true;
  options.hidden = 8;  // sums stay below 256, so that bf16 holds them
  const Diff diff = compare_layer(options).diff;

  EXPECT_EQ(stage_of(diff, "gemm1_out").max_abs, 0);
  EXPECT_EQ(stage_of(diff, "gemm1_out").budget_used, 0);
  // One unit in the last place of one sum, as a lost product of 1 would make.
  const Diff wrong =
      compare_layer(options, on_output(OpKind::gemm1, 4,
                                       [](Memory& memory, const Operand& out) {
                                         test::write_element(memory, out, 7, test::read_element(memory, out, 7) + 1);
                                       }))
          .diff;
  EXPECT_EQ(stage_of(wrong, "gemm1_out").beyond_hard, 1);
}

TEST(Compare, NothingNonZeroIsVisibleInTheCounts) {
  const LayerOptions options;
  const Program program = test::build_layer(options);
  auto inputs = test::make_layer_inputs(program, options);
  std::fill((*inputs)["hidden_states"].data.begin(), (*inputs)["hidden_states"].data.end(), std::byte{0});
  Expected expected(inputs);

  const Diff diff = compare(program, test::execute(program, *inputs), expected);

  EXPECT_EQ(stage_of(diff, "moe_out", DiffMode::chained).compared, 5 * 32);
  EXPECT_EQ(stage_of(diff, "moe_out", DiffMode::chained).nonzero, 0);
  EXPECT_FALSE(stage_of(diff, "moe_out").failed());
}

TEST(Compare, NothingCapturedIsNothingCompared) {
  const LayerOptions options;
  const Program program = test::build_layer(options);
  Expected expected(test::make_layer_inputs(program, options));

  const Diff diff = compare(program, moediff::Run{}, expected);

  ASSERT_FALSE(diff.stages.empty());
  for (const StageDiff& stage : diff.stages) {
    EXPECT_EQ(stage.compared, 0);
    EXPECT_NE(stage.not_comparable, "");
  }
}

TEST(Compare, GarbageFromDispatchFailsDispatchAndNothingElse) {
  const Diff diff =
      compare_layer({}, on_output(OpKind::dispatch, 1,
                                  [](Memory& memory, const Operand& out) {
                                    test::write_element(memory, out, 8, 9);  // one of ten rows belongs to nobody
                                  }))
          .diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("dispatch/expert_offsets"));
  EXPECT_NE(stage_of(diff, "gemm1_out").not_comparable, "");
}

TEST(Compare, ResultsDoNotDependOnWhatWasComparedBefore) {
  const LayerOptions options;
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  const moediff::Run healthy = test::execute(program, *inputs);
  const moediff::Run wrong = test::execute(
      program, *inputs,
      on_output(OpKind::gemm1, 4, [](Memory& m, const Operand& out) { test::write_element(m, out, 3, 8); }));
  Expected fresh(inputs), used(inputs);
  compare(program, healthy, used);

  const Diff first = compare(program, wrong, fresh), second = compare(program, wrong, used);

  EXPECT_THAT(failed_stages(first, DiffMode::local), testing::ElementsAre("gemm1/gemm1_out"));
  ASSERT_EQ(first.stages.size(), second.stages.size());
  for (std::size_t i = 0; i < first.stages.size(); ++i) {
    EXPECT_EQ(first.stages[i].budget_used, second.stages[i].budget_used);
    EXPECT_EQ(first.stages[i].max_abs, second.stages[i].max_abs);
  }
  EXPECT_EQ(first.output_expected, second.output_expected);
}

}  // namespace
}  // namespace moediff
