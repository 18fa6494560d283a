// The observation pass on the fake backend, which says that every op touches all pages of all blocks: what is found
// here is found by snapshot and probe alone.
#include <gmock/gmock.h>

#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

using testing::HasSubstr;

Run observe(const Program& program, const std::string& variants = "",
            std::shared_ptr<const Inputs> inputs = toy::inputs()) {
  RunRequest request = toy::request(program, variants);
  request.observe = true;
  request.inputs = std::move(inputs);
  return make_executor(toy::options())->run(request);
}

/// Changed bytes of a step in the block that holds a buffer.
std::vector<std::pair<std::int64_t, std::int64_t>> changed(const Run& run, int step, int buffer) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Touch& touch : run.accesses[step].touches) {
    if (touch.what == Touch::What::changed && touch.block == run.placement[buffer].block) {
      ranges.emplace_back(touch.begin, touch.end);
    }
  }
  return ranges;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(Observe, ACleanProgramGivesTheSameCaptureAsAPlainRun) {
  for (const Program& program : {toy::program(), toy::two_streams()}) {
    const auto observed = observe(program), plain = make_executor(toy::options())->run(toy::request(program));
    ASSERT_EQ(observed.status, RunStatus::ok) << observed.detail;
    EXPECT_TRUE(observed.observed);
    EXPECT_EQ(observed.capture.operands, plain.capture.operands);
    ASSERT_EQ(observed.accesses.size(), program.steps.size());
    for (const StepAccesses& accesses : observed.accesses) {
      EXPECT_TRUE(accesses.repeated_bitwise);
      EXPECT_TRUE(accesses.depends_on.empty());
    }
  }
}

TEST(Observe, ChangedBytesAreExactlyTheRowsWritten) {
  const Program program = toy::program();
  const auto run = observe(program);
  EXPECT_EQ(changed(run, toy::kScaleAdd, toy::kMoeOut), (Ranges{{0, 20}, {32, 52}, {64, 84}}));
  EXPECT_EQ(changed(run, toy::kScaleAdd, toy::kLayerOut), Ranges{});
  EXPECT_EQ(changed(run, toy::kResidualAdd, toy::kLayerOut), (Ranges{{0, 60}}));
}

TEST(Observe, AWriteOfTheBytesThatWereThereIsSeen) {
  // layer_out holds the result from the start, so that writing it changes nothing.
  Program program = toy::program();
  program.values[4].initial = "result";
  auto inputs = std::make_shared<Inputs>(*toy::inputs());
  Tensor result(DType::f32, {toy::kTokens, toy::kHidden});
  result.data = toy::expected_layer_out();
  (*inputs)["result"] = result;
  EXPECT_EQ(changed(observe(program, "", inputs), toy::kResidualAdd, toy::kLayerOut), (Ranges{{0, 60}}));
  EXPECT_EQ(changed(observe(program, "no_write", inputs), toy::kResidualAdd, toy::kLayerOut), Ranges{});
}

TEST(Observe, AnUndeclaredWriteIsSeenWithItsBytes) {
  const Program program = toy::program();
  const auto run = observe(program, "write_input");
  EXPECT_EQ(changed(run, toy::kResidualAdd, toy::kMoeOut), (Ranges{{0, 4}}));
}

TEST(Observe, AnUndeclaredReadIsFoundAndItsBlockNamed) {
  const Program program = toy::program();
  const auto run = observe(program, "reads_output");
  const StepAccesses& accesses = run.accesses[toy::kResidualAdd];
  EXPECT_FALSE(accesses.repeated_bitwise);
  EXPECT_EQ(accesses.depends_on, std::vector<int>{run.placement[toy::kLayerOut].block});
  EXPECT_TRUE(run.accesses[toy::kScaleAdd].repeated_bitwise);
}

TEST(Observe, WhatAWorkspaceHeldMayChangeTheWorkspaceButNotTheResult) {
  const Program program = toy::with_workspace();
  const auto clean = observe(program);
  EXPECT_TRUE(clean.accesses[0].repeated_bitwise);
  const auto stale = observe(program, "stale_workspace");
  EXPECT_FALSE(stale.accesses[0].repeated_bitwise);
  EXPECT_EQ(stale.accesses[0].depends_on, std::vector<int>{stale.placement[5].block});
}

TEST(Observe, AnOpThatDoesNotRepeatBlamesNoBlock) {
  const Program program = toy::program();
  const auto run = observe(program, "nondeterministic");
  EXPECT_FALSE(run.accesses[toy::kResidualAdd].repeated_bitwise);
  EXPECT_TRUE(run.accesses[toy::kResidualAdd].depends_on.empty());
}

TEST(Observe, AnOutputThatIsNotWrittenIsNoDependence) {
  const Program program = toy::program();
  const auto run = observe(program, "no_write");
  EXPECT_TRUE(run.accesses[toy::kResidualAdd].repeated_bitwise);
  EXPECT_EQ(changed(run, toy::kResidualAdd, toy::kLayerOut), Ranges{});
}

TEST(Observe, AProbeThatCrashesCostsAWorkerAndNamesTheBlock) {
  const Program program = toy::program();
  const auto run = observe(program, "crash_when_clean");
  ASSERT_EQ(run.status, RunStatus::ok) << run.detail;
  const StepAccesses& accesses = run.accesses[toy::kResidualAdd];
  EXPECT_FALSE(accesses.repeated_bitwise);
  EXPECT_EQ(accesses.depends_on, std::vector<int>{run.placement[toy::kLayerOut].block});
  EXPECT_THAT(accesses.probe_note, HasSubstr("signal 11"));
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][2], toy::expected_layer_out());
}

TEST(Observe, AStepThatCrashesInItsFirstRunIsACrash) {
  const Program program = toy::program();
  const auto run = observe(program, "crash");
  EXPECT_EQ(run.status, RunStatus::crash);
  EXPECT_EQ(run.failing_step, toy::kResidualAdd);
}

TEST(Observe, TheTraceLeavesTheProbesOut) {
  const Program program = toy::program();
  const auto run = observe(program);
  int launches = 0;
  for (const TraceItem& item : run.trace) launches += item.kind == TraceItem::Kind::launch ? 1 : 0;
  EXPECT_EQ(launches, 2);
  EXPECT_EQ(run.executed.size(), run.trace.size());
}

TEST(Observe, ADamagedRedZoneNamesTheStepOnce) {
  const Program program = toy::program();
  EXPECT_EQ(observe(program, "overrun").red_zone_hits,
            std::vector<std::string>{"residual_add wrote 4 bytes past layer_out"});
}

TEST(Observe, ABackendWithoutControlSaysSo) {
  const Program program = toy::program();
  RunRequest request = toy::request(program);
  request.observe = true;
  const auto run = make_executor(toy::options("fakegpu"))->run(request);
  EXPECT_EQ(run.status, RunStatus::error);
  EXPECT_THAT(run.detail, HasSubstr("only the host backend"));
}

}  // namespace
}  // namespace moediff
