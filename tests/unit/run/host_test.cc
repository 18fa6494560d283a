// Runs on the real host backend with the builtin provider.
#include <gmock/gmock.h>

#include "tests/unit/run/host_layer.h"

namespace moediff {
namespace {

using testing::HasSubstr;
using namespace host_layer;

Run run(const RunRequest& request) { return make_executor(options())->run(request); }

TEST(Host, ABackendIsListedAsUsable) {
  const std::vector<BackendInfo> list = list_backends(MOEDIFF_BUILD_DIR);
  EXPECT_EQ(list[0].name, "host");
  EXPECT_EQ(list[0].problem, "");
  EXPECT_EQ(list[0].devices, 1);
  EXPECT_NE(list[0].device, "");
}

TEST(Host, TheWorkerGivesWhatThisProcessGives) {
  ExecutorOptions here = options();
  here.in_process = true;
  for (const StreamMode stream : {StreamMode::none, StreamMode::aux, StreamMode::fused}) {
    const Case spec = small_case(stream);
    const Program program = build_moe_layer(spec);
    const auto worker = run(request(spec, program));
    const auto in_process = make_executor(here)->run(request(spec, program));
    ASSERT_EQ(worker.status, RunStatus::ok) << worker.detail;
    EXPECT_EQ(worker.capture.operands, in_process.capture.operands);
    EXPECT_TRUE(worker.red_zone_hits.empty());
  }
}

TEST(Host, EverySchedulePolicyGivesTheSameBytesForACorrectProgram) {
  const Case spec = small_case(StreamMode::aux);
  const Program program = build_moe_layer(spec);
  const auto executor = make_executor(options());
  RunRequest wanted = request(spec, program);
  const auto first = executor->run(wanted);
  ASSERT_EQ(first.status, RunStatus::ok) << first.detail;
  for (const SchedulePolicy policy : {SchedulePolicy::reverse, SchedulePolicy::random, SchedulePolicy::threads}) {
    wanted.schedule.policy = policy;
    const auto other = executor->run(wanted);
    ASSERT_EQ(other.status, RunStatus::ok) << other.detail;
    EXPECT_EQ(other.capture.operands, first.capture.operands) << static_cast<int>(policy);
  }
}

TEST(Host, AGivenOrderIsTheOrderOfExecution) {
  const Case spec = small_case(StreamMode::aux);
  const Program program = build_moe_layer(spec);
  const auto executor = make_executor(options());
  RunRequest wanted = request(spec, program);
  wanted.schedule.policy = SchedulePolicy::reverse;
  const std::vector<int> reverse = executor->run(wanted).executed;
  wanted.schedule = {};
  EXPECT_NE(executor->run(wanted).executed, reverse);
  wanted.schedule.policy = SchedulePolicy::given;
  wanted.schedule.order = reverse;
  EXPECT_EQ(executor->run(wanted).executed, reverse);
}

TEST(Host, AnImpossibleOrderIsOurErrorAndNotTheProviders) {
  const Case spec = small_case(StreamMode::none);
  const Program program = build_moe_layer(spec);
  RunRequest wanted = request(spec, program);
  wanted.schedule.policy = SchedulePolicy::given;
  wanted.schedule.order = {5, 4, 3, 2, 1, 0};
  const auto result = run(wanted);
  EXPECT_EQ(result.status, RunStatus::error);
  EXPECT_THAT(result.detail, HasSubstr("impossible"));
}

TEST(Host, BuffersLieWhereTheRunSays) {
  const Case spec = small_case(StreamMode::aux);
  const Program program = build_moe_layer(spec);
  const auto result = run(request(spec, program));
  ASSERT_EQ(result.placement.size(), program.buffers.size());
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Placement place = result.placement[i];
    ASSERT_GE(place.block, 0) << program.buffers[i].name;
    EXPECT_LE(place.offset + program.buffers[i].bytes, result.blocks[place.block].bytes);
    if (program.buffers[i].pooled) continue;
    EXPECT_EQ(result.blocks[place.block].label, program.buffers[i].name);
  }
}

struct Fault {
  std::string variants;
  RunStatus status;
  std::string step, detail;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.variants; }
class HostFault : public testing::TestWithParam<Fault> {};

TEST_P(HostFault, IsOneVerdictThatNamesTheStep) {
  const Case spec = small_case(StreamMode::none);
  const Program program = build_moe_layer(spec);
  const auto executor = make_executor(options());
  RunRequest wanted = request(spec, program, GetParam().variants);
  if (GetParam().status == RunStatus::hang) wanted.timeout_seconds = 1;
  const auto lost = executor->run(wanted);
  EXPECT_EQ(lost.status, GetParam().status) << lost.detail;
  EXPECT_EQ(lost.failing_step, step_of(program, GetParam().step)) << lost.detail;
  EXPECT_THAT(lost.detail, HasSubstr(GetParam().detail));
  EXPECT_EQ(executor->run(request(spec, program)).status, RunStatus::ok);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, HostFault,
    testing::Values(Fault{"activation=crash", RunStatus::crash, "activation", "wrote through a null pointer"},
                    Fault{"activation=hang", RunStatus::hang, "activation", "no end within 1 s in step activation"},
                    Fault{"gemm2=out_of_bounds", RunStatus::out_of_bounds, "gemm2", "past gemm2_out"},
                    Fault{"gemm2=reads_out_of_bounds", RunStatus::out_of_bounds, "gemm2", "read"},
                    Fault{"shared_activation=barrier_divergence", RunStatus::hang, "shared_activation",
                          "the device reports"},
                    Fault{"combine=nonsense", RunStatus::provider_error, "", "unknown variant"}),
    [](const auto& way) { return testing::PrintToString(way.index); });

}  // namespace
}  // namespace moediff
