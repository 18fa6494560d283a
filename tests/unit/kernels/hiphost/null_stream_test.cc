// The legacy null stream waits for blocking streams and they for it; non-blocking streams are free.
#include "tests/unit/kernels/hiphost/fixture.h"

namespace moediff::hiphost {
namespace {

using ::testing::ElementsAre;

class NullStreamTest : public HostBackendTest {
 protected:
  NullStreamTest() { set_schedule(MD_SCHEDULE_REVERSE); }
  int* list = make_list(16);
};

TEST_F(NullStreamTest, ItsWorkWaitsForBlockingStreams) {
  hipStream_t a = make_stream(hipStreamDefault), b = make_stream(hipStreamDefault);
  hipLaunchKernelGGL(append, 1, 1, 0, a, list, 0);
  hipLaunchKernelGGL(append, 1, 1, 0, nullptr, list, 1);
  hipLaunchKernelGGL(append, 1, 1, 0, b, list, 2);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(0, 1, 2));
}

TEST_F(NullStreamTest, NonBlockingStreamsAreExempt) {
  hipStream_t free_stream = make_stream(hipStreamNonBlocking);
  hipLaunchKernelGGL(append, 1, 1, 0, nullptr, list, 0);
  hipLaunchKernelGGL(append, 1, 1, 0, free_stream, list, 1);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(1, 0));
}

TEST_F(NullStreamTest, BlockingStreamsStayUnorderedAmongThemselves) {
  hipStream_t a = make_stream(hipStreamDefault), b = make_stream(hipStreamDefault);
  hipLaunchKernelGGL(append, 1, 1, 0, a, list, 0);
  hipLaunchKernelGGL(append, 1, 1, 0, b, list, 1);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(appended(list), ElementsAre(1, 0));
}

TEST_F(NullStreamTest, ABlockingCopyWaitsForBlockingStreamsOnly) {
  hipStream_t blocking = make_stream(hipStreamDefault), free_stream = make_stream(hipStreamNonBlocking);
  hipLaunchKernelGGL(append, 1, 1, 0, blocking, list, 0);
  hipLaunchKernelGGL(append, 1, 1, 0, free_stream, list, 1);
  int copy[2] = {};
  ASSERT_EQ(hipSuccess, hipMemcpy(copy, list, sizeof copy, hipMemcpyDeviceToHost));
  EXPECT_THAT(copy, ElementsAre(1, 0));
  EXPECT_THAT(appended(list), ElementsAre(0));
}

TEST_F(NullStreamTest, SynchronisingItWaitsForBlockingStreams) {
  hipStream_t blocking = make_stream(hipStreamDefault);
  hipLaunchKernelGGL(append, 1, 1, 0, blocking, list, 0);
  ASSERT_EQ(hipSuccess, hipStreamSynchronize(nullptr));
  EXPECT_THAT(appended(list), ElementsAre(0));
}

TEST_F(NullStreamTest, ADestroyedStreamsWorkIsStillWaitedFor) {
  hipStream_t blocking = make_stream(hipStreamDefault);
  hipLaunchKernelGGL(append, 1, 1, 0, blocking, list, 0);
  ASSERT_EQ(hipSuccess, hipStreamDestroy(blocking));
  ASSERT_EQ(hipSuccess, hipStreamSynchronize(nullptr));
  EXPECT_THAT(appended(list), ElementsAre(0));
  EXPECT_EQ(hipErrorInvalidHandle, hipStreamSynchronize(blocking));
}

}  // namespace
}  // namespace moediff::hiphost
