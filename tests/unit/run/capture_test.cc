#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

Run run_in_process(const Program& program, const std::string& variants = "", const std::string& backend = "fake") {
  ExecutorOptions options = toy::options(backend);
  options.in_process = true;
  return make_executor(options)->run(toy::request(program, variants));
}

TEST(Capture, OperandsArePackedReadsAtTheBeginAndWritesAtTheEnd) {
  const Program program = toy::program();
  const auto run = run_in_process(program);
  ASSERT_EQ(run.status, RunStatus::ok) << run.detail;
  const auto& operands = run.capture.operands;
  EXPECT_EQ(operands[toy::kScaleAdd][2], toy::expected_moe_out());
  EXPECT_EQ(operands[toy::kResidualAdd][0], toy::expected_moe_out());
  EXPECT_EQ(operands[toy::kResidualAdd][1], toy::inputs()->at("hidden").data);
  EXPECT_EQ(operands[toy::kResidualAdd][2], toy::expected_layer_out());
}

TEST(Capture, AWeightIsCapturedFromTheInputs) {
  const Program program = toy::program();
  EXPECT_EQ(run_in_process(program).capture.operands[toy::kScaleAdd][0], toy::inputs()->at("routed").data);
}

TEST(Capture, AReadIsCapturedBeforeTheStepOverwritesIt) {
  const Program program = toy::program();
  const auto run = run_in_process(program, "write_input");
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][0], toy::expected_moe_out());
}

TEST(Capture, InPlaceTheReadIsTheOldContentAndTheWriteTheNew) {
  Program program = toy::program();
  program.steps[toy::kResidualAdd].operands[2] = program.steps[toy::kResidualAdd].operands[1];
  program.steps[toy::kResidualAdd].operands[2].values = {4};
  program.values[4].buffer = toy::kHiddenStates;
  const auto run = run_in_process(program);
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][1], toy::inputs()->at("hidden").data);
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][2], toy::expected_layer_out());
}

TEST(Capture, AnOpThatLaunchesNothingLeavesPoison) {
  const Program program = toy::program();
  const auto run = run_in_process(program, "no_launch");
  ASSERT_EQ(run.status, RunStatus::ok);
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][0], toy::expected_moe_out());
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][2], std::vector<std::byte>(60, std::byte{0xFF}));
}

TEST(Capture, ABackendWithoutHooksGivesTheSameBytes) {
  for (const Program& program : {toy::program(), toy::two_streams()}) {
    const auto host = run_in_process(program), gpu = run_in_process(program, "", "fakegpu");
    ASSERT_EQ(gpu.status, RunStatus::ok) << gpu.detail;
    EXPECT_EQ(gpu.capture.operands, host.capture.operands);
  }
}

TEST(Capture, ABackendWithoutATraceGetsTheDeclaredOne) {
  const Program program = toy::two_streams();
  const auto run = run_in_process(program, "", "fakegpu");
  ASSERT_EQ(run.trace.size(), program.steps.size());
  EXPECT_EQ(run.trace[0].kind, TraceItem::Kind::launch);
  EXPECT_EQ(run.trace[2].kind, TraceItem::Kind::copy);
  EXPECT_EQ(run.trace[2].stream, 2);
  EXPECT_EQ(run.trace[4].kind, TraceItem::Kind::wait);
  EXPECT_EQ(run.trace[4].stream, 1);
}

}  // namespace
}  // namespace moediff
