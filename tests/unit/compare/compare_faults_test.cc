// Planted errors fail where they arise, are named, and are told apart from right math on the wrong data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/compare/compare.h"
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

TEST(CompareFaults, CatchesFourBf16UlpsInOneElementAndNamesIt) {
  const auto result = compare_layer({}, on_output(OpKind::gemm2, 3, [](Memory& memory, const Operand& out) {
                                      test::write_element(memory, out, 2 * 32 + 9,
                                                          test::read_element(memory, out, 2 * 32 + 9) * (1 + 0x1p-5));
                                    }));

  EXPECT_THAT(failed_stages(result.diff, DiffMode::local), testing::ElementsAre("gemm2/gemm2_out"));
  const StageDiff stage = stage_of(result.diff, "gemm2_out");
  EXPECT_EQ(stage.beyond_statistical, 1);
  ASSERT_TRUE(stage.worst);
  EXPECT_THAT(stage.worst->index, testing::ElementsAre(2, 9));
  EXPECT_EQ(stage.worst->column, 9);
  EXPECT_GT(std::fabs(stage.worst->actual - stage.worst->expected), stage.worst->bound);
  EXPECT_THAT(stage.worst_tokens, testing::ElementsAre(stage.worst->token));
}

TEST(CompareFaults, NamesTheTokenExpertAndSlotOfASortedRow) {
  std::int64_t expert = -1, slot = -1;
  const Fault fault = [&](const Step& step, Memory& memory) {
    if (step.kind != StepKind::call) return;
    if (step.op == OpKind::router)
      expert = static_cast<std::int64_t>(test::read_element(memory, step.operands[4], 3 * 2 + 1));
    if (step.op == OpKind::dispatch)
      slot = static_cast<std::int64_t>(test::read_element(memory, step.operands[3], 3 * 2 + 1));
    if (step.op == OpKind::gemm1) test::write_element(memory, step.operands[4], slot * 48 + 5, 100);
  };
  const StageDiff stage = stage_of(compare_layer({}, fault).diff, "gemm1_out");

  ASSERT_TRUE(stage.worst);
  EXPECT_EQ(stage.worst->token, 3);
  EXPECT_EQ(stage.worst->slot, 1);
  EXPECT_EQ(stage.worst->expert, expert);
  EXPECT_EQ(stage.worst->column, 5);
}

TEST(CompareFaults, CountsTokensOfAChunkFromTheBatch) {
  const LayerOptions options = with([](auto& o) { o.chunk = 2; });
  const Fault fault = [](const Step& step, Memory& memory) {
    if (step.name == "combine[1]") test::write_element(memory, step.operands[3], 32 + 4, 50);
  };
  const Diff diff = compare_layer(options, fault).diff;

  for (const StageDiff& stage : diff.stages) {
    if (stage.stage != "combine" || stage.mode != DiffMode::local) continue;
    EXPECT_EQ(stage.failed(), stage.chunk == 1);
    if (stage.chunk == 1) {
      EXPECT_THAT(stage.worst_tokens, testing::ElementsAre(3));
    }
  }
}

struct RowFault {
  const char* name;
  std::function<void(Memory&, const Operand&)> change;
};
void PrintTo(const RowFault& fault, std::ostream* out) { *out << fault.name; }
class RowFaults : public testing::TestWithParam<RowFault> {};

TEST_P(RowFaults, AreCaughtLocallyAndChained) {
  const Diff diff = compare_layer({}, on_output(OpKind::combine, 3, GetParam().change)).diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("combine/routed_out"));
  EXPECT_THAT(failed_stages(diff, DiffMode::chained), testing::ElementsAre("scale_add/moe_out"));
}

INSTANTIATE_TEST_SUITE_P(OfCombine, RowFaults,
                         testing::Values(RowFault{"lost_row",
                                                  [](Memory& m, const Operand& out) {
                                                    for (int h = 0; h < 32; ++h)
                                                      test::write_element(m, out, 64 + h, NAN);
                                                  }},
                                         RowFault{"zeroed_row",
                                                  [](Memory& m, const Operand& out) {
                                                    for (int h = 0; h < 32; ++h) test::write_element(m, out, 64 + h, 0);
                                                  }},
                                         RowFault{"swapped_rows",
                                                  [](Memory& m, const Operand& out) {
                                                    for (int h = 0; h < 32; ++h) {
                                                      const double a = test::read_element(m, out, h),
                                                                   b = test::read_element(m, out, 32 + h);
                                                      test::write_element(m, out, h, b);
                                                      test::write_element(m, out, 32 + h, a);
                                                    }
                                                  }}),
                         [](const auto& named) { return std::string(named.param.name); });

TEST(CompareFaults, CatchesAScaleOfOnePlusTwoToTheMinusSix) {
  const Diff diff =
      compare_layer({}, on_output(OpKind::combine, 3,
                                  [](Memory& memory, const Operand& out) {
                                    for (int i = 0; i < 5 * 32; ++i)
                                      test::write_element(memory, out, i,
                                                          test::read_element(memory, out, i) * (1 + 0x1p-6));
                                  }))
          .diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("combine/routed_out"));
  EXPECT_GT(stage_of(diff, "routed_out").beyond_hard, 100);
}

TEST(CompareFaults, CatchesSwappedExperts) {
  // gemm1 takes expert 1's matrix for expert 0 and the other way round.
  const Fault fault = [](const Step& step, Memory& memory) {
    if (step.kind != StepKind::call || step.op != OpKind::dispatch) return;
    auto& weights = memory[3];
    std::swap_ranges(weights.begin(), weights.begin() + 2 * 24 * 32 * 2, weights.begin() + 2 * 24 * 32 * 2);
  };
  const LayerOptions options = with([](auto& o) { o.tokens = 16; });
  ASSERT_EQ(test::build_layer(options).values[3].name, "w13");
  const Diff diff = compare_layer(options, fault).diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("gemm1/gemm1_out"));
  const StageDiff gemm1 = stage_of(diff, "gemm1_out");
  EXPECT_EQ(gemm1.mismatches.size(), 4u);
  for (const Mismatch& mismatch : gemm1.mismatches) EXPECT_LT(mismatch.expert, 2);
  EXPECT_THAT(failed_stages(diff, DiffMode::as_read), testing::IsEmpty());  // right math on the wrong weights
}

TEST(CompareFaults, TellsRightMathOnAnOverwrittenInputFromWrongMath) {
  // combine writes over hidden_states before the shared experts read it (vllm#28942).
  LayerOptions options;
  Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  const int out = program.steps[static_cast<std::size_t>(test::step_named(program, "combine"))].operands[3].values[0];
  rebind(program, out, program.values[0].buffer);
  for (const char* shared : {"shared_gemm1", "shared_activation", "shared_gemm2"}) {
    move_step(program, test::step_named(program, shared), test::step_named(program, "scale_add"));
  }
  Expected expected(inputs);

  const Diff diff = compare(program, test::execute(program, *inputs), expected);

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("shared_gemm1/shared_gemm1_out"));
  EXPECT_THAT(failed_stages(diff, DiffMode::as_read), testing::IsEmpty());
  EXPECT_FALSE(stage_of(diff, "shared_gemm1_out", DiffMode::as_read).failed());
  EXPECT_THAT(failed_stages(diff, DiffMode::chained), testing::ElementsAre("scale_add/moe_out"));
  EXPECT_GT(diff.worst_chained, 0.05);
}

TEST(CompareFaults, WrongMathFailsOnTheBytesReadToo) {
  const Diff diff =
      compare_layer({}, on_output(OpKind::shared_gemm2, 2,
                                  [](Memory& memory, const Operand& out) { test::write_element(memory, out, 0, 9); }))
          .diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("shared_gemm2/shared_out"));
  EXPECT_THAT(failed_stages(diff, DiffMode::as_read), testing::ElementsAre("shared_gemm2/shared_out"));
}

/// lambda u sqrt(sum of squared partial sums) of a dot product of 32 terms summed in four quarters, by hand.
double bound_of_quarters(const float* x, const float* w) {
  double squares = 0, total = 0;
  for (std::size_t begin = 0; begin < 32; begin += 8) {
    double partial = 0;
    for (std::size_t k = begin; k < begin + 8; ++k) {
      partial += static_cast<double>(x[k]) * static_cast<double>(w[k]);
      squares += partial * partial;
    }
    total += partial;
    if (begin > 0) squares += total * total;
  }
  return 9.18038 * 0x1p-24 * std::sqrt(squares);
}

TEST(CompareFaults, TheBoundFollowsTheCandidatesOrderOfAccumulation) {
  // One large product first: in one run every later partial sum is large, in four only those of the first quarter.
  const LayerOptions options = with([](auto& o) {
    o.dtype = DType::f32;
    o.split_k = 4;
  });
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  for (std::size_t t = 0; t < 5; ++t) (*inputs)["hidden_states"].as<float>()[t * 32] = 1000;
  Expected expected(inputs);
  const Fault fault = [](const Step& step, Memory& m) {
    if (step.kind != StepKind::call) return;
    if (step.op == OpKind::shared_gemm1) test::write_element(m, step.operands[2], 0, 1e6);
    if (step.op == OpKind::gemm1) test::write_element(m, step.operands[4], 0, 1e6);
  };

  const Diff diff = compare(program, test::execute(program, *inputs, fault), expected);

  const float* x = (*inputs)["hidden_states"].as<float>().data();
  const Mismatch shared = *stage_of(diff, "shared_gemm1_out").worst, routed = *stage_of(diff, "gemm1_out").worst;
  EXPECT_NEAR(shared.bound / bound_of_quarters(x, (*inputs)["shared_w13"].as<float>().data()), 1, 1e-4);
  const float* w13 = (*inputs)["w13"].as<float>().data() + routed.expert * 48 * 32;
  EXPECT_NEAR(routed.bound / bound_of_quarters(x + routed.token * 32, w13), 1, 1e-4);
}

TEST(CompareFaults, AnIntermediateOverwrittenBeforeItsReaderIsNotTheReadersMath) {
  // Something that runs between the router and combine damages the weights.
  const Program layout = test::build_layer({});
  const Operand weights = layout.steps[static_cast<std::size_t>(test::step_named(layout, "router"))].operands[5];
  const Fault fault = [&](const Step& step, Memory& memory) {
    if (step.name == "gemm1") test::write_element(memory, weights, 3, 0.9);
  };
  const Diff diff = compare_layer({}, fault).diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("combine/routed_out"));
  EXPECT_THAT(stage_of(diff, "routed_out").worst_tokens, testing::ElementsAre(1));
  EXPECT_FALSE(stage_of(diff, "routed_out", DiffMode::as_read).failed());
}

TEST(CompareFaults, ReadsThatWereNotCapturedGiveNoSecondComparison) {
  const LayerOptions options;
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  moediff::Run run =
      test::execute(program, *inputs, on_output(OpKind::shared_gemm2, 2, [](Memory& memory, const Operand& out) {
                      test::write_element(memory, out, 0, 9);
                    }));
  run.capture.operands[static_cast<std::size_t>(test::step_named(program, "shared_gemm2"))][0].resize(10);
  Expected expected(inputs);

  const Diff diff = compare(program, run, expected);

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("shared_gemm2/shared_out"));
  EXPECT_THAT(diff.stages, testing::Each(testing::Field(&StageDiff::mode, testing::Ne(DiffMode::as_read))));
}

TEST(CompareFaults, ACopyMustBeBitwiseEqual) {
  const LayerOptions options = with([](auto& o) { o.stream = StreamMode::aux; });
  const Fault fault = [](const Step& step, Memory& memory) {
    if (step.name != "clone_hidden") return;
    const Operand& to = step.operands[1];
    memory[static_cast<std::size_t>(to.buffer)][0] ^= std::byte{1};
  };
  const Diff diff = compare_layer(options, fault).diff;

  EXPECT_THAT(failed_stages(diff, DiffMode::local), testing::ElementsAre("copy/hidden_clone"));
  EXPECT_EQ(stage_of(diff, "hidden_clone").beyond_hard, 1);
}

}  // namespace
}  // namespace moediff
