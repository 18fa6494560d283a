// The comparator end to end: healthy candidates of every configuration pass, planted errors fail where they arise.
#include "harness/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/program/rewrite.h"
#include "tests/unit/compare/program_helper.h"

namespace moediff {
namespace {

using test::Fault;
using test::LayerOptions;
using test::Memory;

struct Compared {
  Program program;
  Diff diff;
};

Compared compare_layer(const LayerOptions& options, const Fault& fault = {}) {
  Compared result{test::build_layer(options), {}};
  const auto inputs = test::make_layer_inputs(result.program, options);
  Expected expected(inputs);
  result.diff = compare(result.program, test::execute(result.program, *inputs, fault), expected);
  return result;
}

std::vector<std::string> failed_stages(const Diff& diff, DiffMode mode) {
  std::vector<std::string> names;
  for (const StageDiff& stage : diff.stages) {
    if (stage.mode == mode && stage.failed()) names.push_back(stage.stage + "/" + stage.value);
  }
  return names;
}

const StageDiff& stage_of(const Diff& diff, const std::string& value, DiffMode mode = DiffMode::local) {
  for (const StageDiff& stage : diff.stages) {
    if (stage.value == value && stage.mode == mode) return stage;
  }
  throw std::runtime_error("no such stage: " + value);
}

/// A fault that changes the elements of one output of the op.
Fault on_output(OpKind op, std::size_t operand, std::function<void(Memory&, const Operand&)> change) {
  return [=](const Step& step, Memory& memory) {
    if (step.kind == StepKind::call && step.op == op) change(memory, step.operands[operand]);
  };
}

struct Named {
  const char* name;
  LayerOptions options;
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.name; }

LayerOptions with(std::function<void(LayerOptions&)> change) {
  LayerOptions options;
  change(options);
  return options;
}

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

TEST(Compare, CatchesFourBf16UlpsInOneElementAndNamesIt) {
  const auto result = compare_layer({}, on_output(OpKind::gemm2, 3, [](Memory& memory, const Operand& out) {
                                      test::write_element(memory, out, 2 * 32 + 9,
                                                          test::read_element(memory, out, 2 * 32 + 9) * (1 + 0x1p-5));
                                    }));

  EXPECT_THAT(failed_stages(result.diff, DiffMode::local), testing::ElementsAre("gemm2/gemm2_out"));
  const StageDiff& stage = stage_of(result.diff, "gemm2_out");
  EXPECT_EQ(stage.beyond_statistical, 1);
  ASSERT_TRUE(stage.worst);
  EXPECT_THAT(stage.worst->index, testing::ElementsAre(2, 9));
  EXPECT_EQ(stage.worst->column, 9);
  EXPECT_GT(std::fabs(stage.worst->actual - stage.worst->expected), stage.worst->bound);
  EXPECT_THAT(stage.worst_tokens, testing::ElementsAre(stage.worst->token));
}

TEST(Compare, NamesTheTokenExpertAndSlotOfASortedRow) {
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

TEST(Compare, CountsTokensOfAChunkFromTheBatch) {
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

TEST(Compare, CatchesAScaleOfOnePlusTwoToTheMinusSix) {
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

TEST(Compare, CatchesSwappedExperts) {
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
  for (const Mismatch& mismatch : stage_of(diff, "gemm1_out").mismatches) EXPECT_LT(mismatch.expert, 2);
  EXPECT_THAT(failed_stages(diff, DiffMode::as_read), testing::IsEmpty());  // right math on the wrong weights
}

TEST(Compare, TellsRightMathOnAnOverwrittenInputFromWrongMath) {
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

TEST(Compare, WrongMathFailsOnTheBytesReadToo) {
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

TEST(Compare, TheBoundFollowsTheCandidatesOrderOfAccumulation) {
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

TEST(Compare, AnIntermediateOverwrittenBeforeItsReaderIsNotTheReadersMath) {
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

TEST(Compare, ReadsThatWereNotCapturedGiveNoSecondComparison) {
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

TEST(Compare, ACopyMustBeBitwiseEqual) {
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
