// Trace, tags, hooks, reset, errors.
#include "tests/unit/kernels/hiphost/fixture.h"

namespace moediff::hiphost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

__global__ void wait_differently() { threadIdx.x == 0 ? __syncthreads() : void(__ballot(1)); }

class ControlTest : public HostBackendTest {
 protected:
  int* list = make_list(16);
};

TEST_F(ControlTest, TheTraceListsWhatWasIssuedOnWhoseBehalf) {
  hipStream_t stream = make_stream(), blocking = make_stream(hipStreamDefault);
  hipEvent_t event = make_event();
  control.set_tag(7);
  hipLaunchKernelGGL((append), 1, 1, 0, stream, list, 1);
  ASSERT_EQ(hipSuccess, hipEventRecord(event, stream));
  control.set_tag(8);
  ASSERT_EQ(hipSuccess, hipStreamWaitEvent(blocking, event, 0));
  ASSERT_EQ(0, backend.fill_async(list + 4, 0, 8, blocking));
  control.set_tag(-1);
  ASSERT_EQ(hipSuccess, hipStreamSynchronize(blocking));
  const std::vector<md_item> items = trace();
  ASSERT_EQ(5u, items.size());
  const auto words = [](const md_item& i) {
    return std::vector<std::int64_t>{i.kind, i.tag, i.stream, i.blocking, i.event, i.block, i.offset, i.bytes};
  };
  EXPECT_THAT(words(items[0]), ElementsAre(MD_ITEM_LAUNCH, 7, 1, 0, -1, -1, 0, 0));
  EXPECT_STREQ("append", items[0].name);
  EXPECT_THAT(words(items[1]), ElementsAre(MD_ITEM_RECORD, 7, 1, 0, 0, -1, 0, 0));
  EXPECT_THAT(words(items[2]), ElementsAre(MD_ITEM_WAIT, 8, 2, 1, 0, -1, 0, 0));
  EXPECT_THAT(words(items[3]), ElementsAre(MD_ITEM_FILL, 8, 2, 1, -1, 0, 16, 8));
  EXPECT_THAT(words(items[4]), ElementsAre(MD_ITEM_STREAM_SYNC, -1, 2, 1, -1, -1, 0, 0));
}

TEST_F(ControlTest, TagHooksEncloseTheItemsOfATag) {
  struct Log {
    int* list;
    std::vector<std::string> lines;
  } log{list, {}};
  control.set_hooks(
      [](void* user, std::int32_t tag, std::int32_t begin) {
        auto& l = *static_cast<Log*>(user);
        l.lines.push_back(std::to_string(tag) + (begin != 0 ? " begins at " : " ends at ") + std::to_string(l.list[0]));
      },
      nullptr, &log);
  for (int tag = 0; tag < 2; ++tag) {
    control.set_tag(tag);
    for (int i = 0; i < 3; ++i) hipLaunchKernelGGL(append, 1, 1, 0, nullptr, list, i);
  }
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(log.lines, ElementsAre("0 begins at 0", "0 ends at 3", "1 begins at 3", "1 ends at 6"));
}

TEST_F(ControlTest, AHookMayCopyOut) {
  struct Peek {
    const md_backend* backend;
    int* list;
    int before = -1;
  } peek{&backend, list};
  control.set_hooks(
      [](void* user, std::int32_t, std::int32_t begin) {
        auto& p = *static_cast<Peek*>(user);
        if (begin == 0) p.backend->copy_out(&p.before, p.list, sizeof(int));
      },
      nullptr, &peek);
  control.set_tag(0);
  hipLaunchKernelGGL(append, 1, 1, 0, nullptr, list, 1);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(1, peek.before);
}

TEST_F(ControlTest, AHostFunctionRunsInStreamOrderAndMustNotCallTheRuntime) {
  hipStream_t stream = make_stream();
  hipError_t inside = hipSuccess;
  hipLaunchKernelGGL(append, 1, 1, 0, stream, list, 1);
  ASSERT_EQ(hipSuccess,
            hipLaunchHostFunc(
                stream, [](void* user) { *static_cast<hipError_t*>(user) = hipDeviceSynchronize(); }, &inside));
  EXPECT_EQ(hipSuccess, inside);
  ASSERT_EQ(hipSuccess, hipStreamSynchronize(stream));
  EXPECT_EQ(hipErrorIllegalState, inside);
}

TEST_F(ControlTest, NumbersAreTheSameAfterAReset) {
  std::vector<std::vector<std::int64_t>> runs;
  for (int run = 0; run < 3; ++run) {
    reset();
    list = make_list(4);
    hipStream_t stream = make_stream();
    hipEvent_t event = make_event();
    void* pooled = nullptr;
    ASSERT_EQ(0, backend.allocate_async(&pooled, 64, MD_MEMORY_VALUE, "pooled", stream));
    hipLaunchKernelGGL(append, 1, 1, 0, stream, list, 1);
    ASSERT_EQ(hipSuccess, hipEventRecord(event, stream));
    ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
    runs.emplace_back();
    for (const md_item& i : trace()) runs.back().insert(runs.back().end(), {i.kind, i.tag, i.stream, i.event, i.block});
    for (const int seq : executed()) runs.back().push_back(seq);
    runs.back().push_back(std::int64_t(blocks().size()));
  }
  EXPECT_THAT(runs, ::testing::Each(runs[0]));
  EXPECT_GE(runs[0].size(), 20u);
}

TEST_F(ControlTest, HandlesOfBeforeAResetAreInvalid) {
  hipStream_t stream = make_stream();
  reset();
  EXPECT_EQ(hipErrorInvalidHandle, hipStreamSynchronize(stream));
}

TEST_F(ControlTest, ADeadlockIsAnErrorOfEveryCallUntilReset) {
  hipLaunchKernelGGL(wait_differently, 1, 64, 0, nullptr);
  EXPECT_NE(0, backend.device_synchronize());
  EXPECT_THAT(backend.last_error(), HasSubstr("wait_differently (item 0): deadlock in block (0,0,0)"));
  hipLaunchKernelGGL(append, 1, 1, 0, nullptr, list, 1);
  EXPECT_EQ(hipErrorLaunchTimeOut, hipGetLastError());
  reset();
  list = make_list(4);
  hipLaunchKernelGGL(append, 1, 1, 0, nullptr, list, 1);
  EXPECT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(1));
}

TEST_F(ControlTest, AnImpossibleLaunchIsRefused) {
  hipLaunchKernelGGL(append, 1, 1025, 0, nullptr, list, 1);
  EXPECT_EQ(hipErrorInvalidConfiguration, hipPeekAtLastError());
  EXPECT_EQ(hipErrorInvalidConfiguration, hipGetLastError());
  EXPECT_EQ(hipSuccess, hipGetLastError());
  EXPECT_STREQ("hipErrorInvalidConfiguration", hipGetErrorName(hipErrorInvalidConfiguration));
  EXPECT_THAT(trace(), ::testing::IsEmpty());
}

TEST_F(ControlTest, AnUnknownAbiVersionIsRefused) { EXPECT_EQ(nullptr, moediff_backend(MOEDIFF_ABI_VERSION + 1)); }

TEST_F(ControlTest, EventsMeasureTime) {
  hipEvent_t start = make_event(), stop = make_event();
  float milliseconds = -1;
  ASSERT_EQ(hipSuccess, hipEventRecord(start, nullptr));
  ASSERT_EQ(hipSuccess, hipEventRecord(stop, nullptr));
  EXPECT_EQ(hipErrorNotReady, hipEventElapsedTime(&milliseconds, start, stop));
  ASSERT_EQ(hipSuccess, hipEventSynchronize(stop));
  EXPECT_EQ(hipSuccess, hipEventElapsedTime(&milliseconds, start, stop));
  EXPECT_GE(milliseconds, 0);
}

}  // namespace
}  // namespace moediff::hiphost
