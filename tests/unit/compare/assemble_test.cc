// Which bytes a step was meant to read.
#include "harness/compare/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "harness/program/rewrite.h"
#include "tests/unit/compare/program_helper.h"

namespace moediff {
namespace {

using test::LayerOptions;

std::vector<double> assembled(const Program& program, const Run& run, const Inputs& inputs, int step, int operand) {
  const auto bytes = assemble(program, run, inputs, step, operand);
  if (!bytes) throw std::runtime_error("not assembled");
  return to_doubles(program.steps[static_cast<std::size_t>(step)].operands[static_cast<std::size_t>(operand)].dtype,
                    *bytes);
}

TEST(Assemble, ColumnsOfTheTopKBufferComeFromTheRouterAndFromConstants) {
  LayerOptions options;
  options.stream = StreamMode::fused;
  options.n_shared = 2;
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  const moediff::Run run = test::execute(program, *inputs);
  const int router = test::step_named(program, "router"), dispatch = test::step_named(program, "dispatch");

  const std::vector<double> ids = assembled(program, run, *inputs, dispatch, 0);

  const std::vector<double> routed = to_doubles(DType::i32, run.capture.operands[static_cast<std::size_t>(router)][4]);
  ASSERT_EQ(ids.size(), 5u * 4u);
  for (std::size_t t = 0; t < 5; ++t) {
    EXPECT_EQ(ids[t * 4], routed[t * 2]);
    EXPECT_EQ(ids[t * 4 + 1], routed[t * 2 + 1]);
    EXPECT_EQ(ids[t * 4 + 2], 8);
    EXPECT_EQ(ids[t * 4 + 3], 9);
  }
}

TEST(Assemble, AChunkReadsItsRows) {
  LayerOptions options;
  options.chunk = 2;
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  const moediff::Run run = test::execute(program, *inputs);

  const std::vector<double> staged = assembled(program, run, *inputs, test::step_named(program, "stage_hidden[1]"), 0);
  const std::vector<double> ids = assembled(program, run, *inputs, test::step_named(program, "dispatch[2]"), 0);

  const std::vector<double> hidden = to_doubles(inputs->at("hidden_states"));
  EXPECT_THAT(staged, testing::ElementsAreArray(hidden.begin() + 2 * 32, hidden.begin() + 4 * 32));
  const int router = test::step_named(program, "router");
  const std::vector<double> routed = to_doubles(DType::i32, run.capture.operands[static_cast<std::size_t>(router)][4]);
  EXPECT_THAT(ids, testing::ElementsAre(routed[8], routed[9]));  // the last chunk has one token
}

TEST(Assemble, ChunksAreJoinedForAReaderOfTheWholeBatch) {
  LayerOptions options;
  options.chunk = 2;
  options.residual = true;
  const Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  const moediff::Run run = test::execute(program, *inputs);

  const std::vector<double> joined = assembled(program, run, *inputs, test::step_named(program, "residual_add"), 0);

  ASSERT_EQ(joined.size(), 5u * 32u);
  const int last = test::step_named(program, "scale_add[2]");
  const std::vector<double> written = to_doubles(DType::bf16, run.capture.operands[static_cast<std::size_t>(last)][2]);
  EXPECT_THAT(std::vector<double>(joined.begin() + 4 * 32, joined.end()), testing::ElementsAreArray(written));
}

TEST(Assemble, WhatWasOverwrittenInBetweenDoesNotShow) {
  LayerOptions options;
  Program program = test::build_layer(options);
  const auto inputs = test::make_layer_inputs(program, options);
  const int combine = test::step_named(program, "combine");
  rebind(program, program.steps[static_cast<std::size_t>(combine)].operands[3].values[0], program.values[0].buffer);
  move_step(program, test::step_named(program, "shared_gemm1"), test::step_named(program, "scale_add"));
  const int reader = test::step_named(program, "shared_gemm1");
  const moediff::Run run = test::execute(program, *inputs);

  const std::vector<double> meant = assembled(program, run, *inputs, reader, 0);

  EXPECT_EQ(meant, to_doubles(inputs->at("hidden_states")));
  EXPECT_NE(meant, to_doubles(DType::bf16, run.capture.operands[static_cast<std::size_t>(reader)][0]));
}

TEST(Assemble, AnOperandThatIsNotCoveredByItsValuesIsNotMadeUp) {
  const LayerOptions options;
  Program program = test::build_layer(options);
  Operand& operand = program.steps[static_cast<std::size_t>(test::step_named(program, "dispatch"))].operands[0];
  operand.region.row_bytes += 4;
  operand.shape[1] += 1;

  EXPECT_FALSE(plan_gather(program, operand));
  operand.values.clear();
  EXPECT_FALSE(plan_gather(program, operand));
}

}  // namespace
}  // namespace moediff
