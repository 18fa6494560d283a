// Which orders the policies execute, and that no policy breaks an order that streams and events make.
#include <atomic>
#include <set>

#include "tests/unit/kernels/hiphost/fixture.h"

namespace moediff::hiphost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

__global__ void meet(std::atomic<int>* arrived, int* met) {
  ++*arrived;
  for (int i = 0; i < 200'000'000 && *arrived < 2; ++i) {
  }
  *met = *arrived;
}

class ScheduleTest : public HostBackendTest {
 protected:
  /// Items 0..5: a0 b1 a2 b3 a4 b5 on two streams.
  void issue_two_streams() {
    for (int i = 0; i < 6; ++i) hipLaunchKernelGGL(append, 1, 1, 0, i % 2 == 0 ? a : b, list, i);
  }
  int* list = make_list(16);
  hipStream_t a = make_stream(), b = make_stream();
};

TEST_F(ScheduleTest, NothingRunsBeforeTheHostWaits) {
  issue_two_streams();
  EXPECT_THAT(appended(list), ElementsAre());
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(6u, appended(list).size());
}

TEST_F(ScheduleTest, SubmissionRunsInIssueOrder) {
  issue_two_streams();
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(executed(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(ScheduleTest, ReverseRunsTheYoungestStreamFirst) {
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_REVERSE));
  issue_two_streams();
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(1, 3, 5, 0, 2, 4));
}

TEST_F(ScheduleTest, RandomIsRepeatableAndDependsOnTheSeed) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      reset();
      list = make_list(16), a = make_stream(), b = make_stream();
      ASSERT_EQ(0, set_schedule(MD_SCHEDULE_RANDOM, seed));
      issue_two_streams();
      ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
      if (repeat == 0) first = appended(list);
      EXPECT_EQ(first, appended(list)) << "seed " << seed;
    }
    orders.insert(first);
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST_F(ScheduleTest, AGivenOrderIsFollowedAndTheRestComesAfterIt) {
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_GIVEN, 0, {1, 0, 3, 5}));
  issue_two_streams();
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(1, 0, 3, 5, 2, 4));
}

TEST_F(ScheduleTest, AGivenOrderAgainstAStreamIsAnErrorAndNotAHang) {
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_GIVEN, 0, {2, 0}));
  issue_two_streams();
  EXPECT_NE(0, backend.device_synchronize());
  EXPECT_THAT(backend.last_error(), HasSubstr("the given order is impossible: append (item 2) before append (item 0)"));
}

TEST_F(ScheduleTest, AGivenOrderMayRunOtherStreamsWhileTheHostWaitsForOne) {
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_GIVEN, 0, {1, 0, 3, 2, 5, 4}));
  issue_two_streams();
  ASSERT_EQ(hipSuccess, hipStreamSynchronize(a));
  EXPECT_THAT(appended(list), ElementsAre(1, 0, 3, 2, 5, 4));
}

TEST_F(ScheduleTest, AGivenOrderThatNeedsAnItemOfLaterIsAnError) {
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_GIVEN, 0, {7, 0}));
  issue_two_streams();
  EXPECT_NE(0, backend.device_synchronize());
  EXPECT_THAT(backend.last_error(), HasSubstr("item 7 was not issued yet"));
}

TEST_F(ScheduleTest, ThreadsReallyRunAtTheSameTime) {
  auto* arrived = allocate<std::atomic<int>>(1, "arrived");
  *arrived = 0;
  int* met = allocate<int>(2, "met");
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_THREADS));
  hipLaunchKernelGGL(meet, 1, 1, 0, a, arrived, met);
  hipLaunchKernelGGL(meet, 1, 1, 0, b, arrived, met + 1);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(2, met[0]);
  EXPECT_EQ(2, met[1]);
}

/// The parameter is the policy; under each the event makes b's work wait for a's.
class EveryPolicy : public ScheduleTest, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, ::testing::Range(0, 5));

TEST_P(EveryPolicy, AnEventOrdersTwoStreams) {
  ASSERT_EQ(0, set_schedule(GetParam(), 3));
  hipEvent_t event = make_event();
  for (int i = 0; i < 4; ++i) hipLaunchKernelGGL(append, 1, 1, 0, a, list, i);
  ASSERT_EQ(hipSuccess, hipEventRecord(event, a));
  ASSERT_EQ(hipSuccess, hipStreamWaitEvent(b, event, 0));
  for (int i = 4; i < 8; ++i) hipLaunchKernelGGL(append, 1, 1, 0, b, list, i);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(ScheduleTest, AWaitMeansTheRecordOfBeforeAndNotALaterOne) {
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_REVERSE));
  hipEvent_t event = make_event();
  hipLaunchKernelGGL(append, 1, 1, 0, a, list, 0);
  ASSERT_EQ(hipSuccess, hipEventRecord(event, a));
  ASSERT_EQ(hipSuccess, hipStreamWaitEvent(b, event, 0));
  hipLaunchKernelGGL(append, 1, 1, 0, a, list, 1);
  ASSERT_EQ(hipSuccess, hipEventRecord(event, a));
  hipLaunchKernelGGL(append, 1, 1, 0, b, list, 2);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(0, 2, 1));
}

TEST_F(ScheduleTest, AWaitForAnEventThatWasNeverRecordedDoesNothing) {
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_REVERSE));
  hipEvent_t event = make_event();
  hipLaunchKernelGGL(append, 1, 1, 0, a, list, 0);
  ASSERT_EQ(hipSuccess, hipStreamWaitEvent(b, event, 0));
  hipLaunchKernelGGL(append, 1, 1, 0, b, list, 1);
  ASSERT_EQ(hipSuccess, hipEventRecord(event, a));
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(1, 0));
}

TEST_F(ScheduleTest, AStreamSynchroniseRunsOnlyWhatTheStreamNeeds) {
  hipEvent_t event = make_event();
  hipLaunchKernelGGL(append, 1, 1, 0, a, list, 0);
  ASSERT_EQ(hipSuccess, hipEventRecord(event, a));
  hipLaunchKernelGGL(append, 1, 1, 0, a, list, 1);
  ASSERT_EQ(hipSuccess, hipStreamWaitEvent(b, event, 0));
  hipLaunchKernelGGL(append, 1, 1, 0, b, list, 2);
  ASSERT_EQ(hipSuccess, hipStreamSynchronize(b));
  EXPECT_THAT(appended(list), ElementsAre(0, 2));
}

TEST_F(ScheduleTest, PollingAStreamBringsItToItsEnd) {
  issue_two_streams();
  int polls = 1;
  while (hipStreamQuery(a) == hipErrorNotReady) ++polls;
  EXPECT_EQ(4, polls);
  EXPECT_THAT(appended(list), ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace moediff::hiphost
