#include "harness/run/executor.h"

#include <gmock/gmock.h>

#include "harness/core/error.h"
#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

using testing::HasSubstr;

TEST(Executor, TheWorkerGivesWhatThisProcessGives) {
  ExecutorOptions here = toy::options();
  here.in_process = true;
  const auto worker = make_executor(toy::options()), in_process = make_executor(here);
  for (const Program& program : {toy::program(), toy::two_streams()}) {
    const auto a = worker->run(toy::request(program)), b = in_process->run(toy::request(program));
    ASSERT_EQ(a.status, RunStatus::ok) << a.detail;
    EXPECT_EQ(a.capture.operands, b.capture.operands);
    EXPECT_EQ(a.executed, b.executed);
    ASSERT_EQ(a.trace.size(), b.trace.size());
    EXPECT_EQ(a.capture.operands[program.steps.size() > 2 ? 5 : 1][2], toy::expected_layer_out());
  }
}

TEST(Executor, TraceBlocksAndPlacementDescribeTheRun) {
  const Program program = toy::two_streams();
  const auto run = make_executor(toy::options())->run(toy::request(program));
  ASSERT_EQ(run.trace.size(), 8u);  // the steps and the final synchronisation
  EXPECT_EQ(run.trace[0].name, "scale_kernel");
  EXPECT_EQ(run.trace[0].step, 0);
  EXPECT_EQ(run.trace[0].stream, 1);
  EXPECT_EQ(run.trace[3].kind, TraceItem::Kind::record);
  EXPECT_EQ(run.trace[3].stream, 2);
  EXPECT_EQ(run.trace[7].kind, TraceItem::Kind::device_sync);
  EXPECT_EQ(run.trace[7].step, -1);
  ASSERT_EQ(run.placement.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(run.blocks[run.placement[i].block].label, program.buffers[i].name);
    EXPECT_EQ(run.placement[i].offset, 0);
  }
}

TEST(Executor, InputsOfAnotherGroupReplaceTheFirst) {
  const auto executor = make_executor(toy::options());
  const Program program = toy::program();
  RunRequest request = toy::request(program);
  executor->run(request);
  auto other = std::make_shared<Inputs>(*request.inputs);
  (*other)["hidden"] = Tensor(DType::f32, {toy::kTokens, toy::kHidden});
  request.inputs = other;
  const auto run = executor->run(request);
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][1], (*other)["hidden"].data);
  EXPECT_EQ(run.capture.operands[toy::kResidualAdd][2], toy::expected_moe_out());
}

TEST(Executor, AProviderErrorCarriesTheProvidersText) {
  const auto executor = make_executor(toy::options());
  const Program program = toy::program();
  const auto run = executor->run(toy::request(program, "refuse"));
  EXPECT_EQ(run.status, RunStatus::provider_error);
  EXPECT_EQ(run.failing_step, toy::kResidualAdd);
  EXPECT_THAT(run.detail, HasSubstr("refused step residual_add with code 7: the fake provider's last error"));
  EXPECT_EQ(executor->run(toy::request(program)).status, RunStatus::ok);
}

TEST(Executor, AnUnknownVariantIsAProviderError) {
  const Program program = toy::program();
  const auto run = make_executor(toy::options())->run(toy::request(program, "unknown"));
  EXPECT_EQ(run.status, RunStatus::provider_error);
  EXPECT_THAT(run.detail, HasSubstr("has no variants 'unknown'"));
}

TEST(Executor, AProviderOfAnotherVersionIsAProviderError) {
  const Program program = toy::program();
  RunRequest request = toy::request(program);
  request.provider.name = "old";
  const auto run = make_executor(toy::options())->run(request);
  EXPECT_EQ(run.status, RunStatus::provider_error);
  EXPECT_THAT(run.detail, HasSubstr("version 99"));
}

TEST(Executor, AMissingProviderOrBackendCannotRun) {
  const Program program = toy::program();
  RunRequest request = toy::request(program);
  request.provider.name = "nobody";
  EXPECT_THROW(make_executor(toy::options())->run(request), CannotRun);
  EXPECT_THROW(make_executor(toy::options("quantum")), CannotRun);
  EXPECT_THROW(make_executor(toy::options("empty_fake")), CannotRun);
}

TEST(Executor, AScheduleThatTheBackendRefusesIsAnError) {
  const Program program = toy::program();
  RunRequest request = toy::request(program);
  request.schedule.policy = SchedulePolicy::threads;
  const auto run = make_executor(toy::options())->run(request);
  EXPECT_EQ(run.status, RunStatus::error);
  EXPECT_THAT(run.detail, HasSubstr("setting the schedule"));
}

TEST(Executor, ADamagedRedZoneNamesTheStep) {
  const Program program = toy::program();
  const auto run = make_executor(toy::options())->run(toy::request(program, "overrun"));
  EXPECT_EQ(run.status, RunStatus::ok);
  EXPECT_EQ(run.red_zone_hits, std::vector<std::string>{"residual_add wrote 4 bytes past layer_out"});
}

TEST(Executor, ListingSaysWhyABackendCannotBeUsed) {
  const std::vector<BackendInfo> list = list_backends(RUN_TEST_MODULES);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].name, "host");
  for (const BackendInfo& info : list) EXPECT_EQ(info.problem, "not built");
}

}  // namespace
}  // namespace moediff
