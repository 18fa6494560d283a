// How the threads of a block take turns.
#include "kernels/hiphost/block_executor.h"

#include <numeric>

#include "tests/unit/kernels/hiphost/fixture.h"

namespace moediff::hiphost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Runs `body` once a device thread; the closure is not owned.
std::string run_body(BlockExecutor& executor, dim3 grid, dim3 block, std::function<void()> body,
                     std::size_t shared_bytes = 0) {
  Launch launch{"body", grid, block, shared_bytes, nullptr, &body, nullptr, nullptr};
  launch.invoke = [](void* closure) { (*static_cast<std::function<void()>*>(closure))(); };
  return executor.run(launch);
}

class BlockExecutorTest : public ::testing::Test {
 protected:
  StackPool stacks;
  BlockExecutor executor{stacks};
};

TEST_F(BlockExecutorTest, AKernelWithoutBarriersMakesNoSwitches) {
  int count = 0;
  EXPECT_EQ("", run_body(executor, dim3(5), dim3(256), [&] { ++count; }));
  EXPECT_EQ(5 * 256, count);
  EXPECT_EQ(0, executor.switches());
}

TEST_F(BlockExecutorTest, ABarrierCostsAboutOneSwitchAThread) {
  EXPECT_EQ("", run_body(executor, dim3(1), dim3(64), [] {
              for (int i = 0; i < 10; ++i) __syncthreads();
            }));
  EXPECT_GE(executor.switches(), 10 * 63);
  EXPECT_LE(executor.switches(), 11 * 64);
}

TEST_F(BlockExecutorTest, EveryThreadOfEveryBlockRunsOnceWithItsOwnIndices) {
  std::vector<int> hits(3 * 2 * 2 * 4 * 3 * 2, 0);
  EXPECT_EQ("", run_body(executor, dim3(3, 2, 2), dim3(4, 3, 2), [&] {
              __syncthreads();
              const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
              const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
              ++hits[block * 24 + thread];
            }));
  EXPECT_THAT(hits, ::testing::Each(1));
}

TEST_F(BlockExecutorTest, NoThreadPassesABarrierBeforeAllHaveArrived) {
  int arrived = 0, early = 0;
  EXPECT_EQ("", run_body(executor, dim3(4), dim3(100), [&] {
              for (int round = 1; round <= 3; ++round) {
                ++arrived;
                __syncthreads();
                if (arrived != 100 * round) ++early;
                __syncthreads();
              }
              if (threadIdx.x == 0) arrived = 0;
              __syncthreads();
            }));
  EXPECT_EQ(0, early);
}

TEST_F(BlockExecutorTest, AThreadThatHasEndedCountsAsArrived) {
  int passed = 0;
  EXPECT_EQ("", run_body(executor, dim3(2), dim3(64), [&] {
              if (threadIdx.x % 3 == 0) return;
              __syncthreads();
              ++passed;
            }));
  EXPECT_EQ(2 * (64 - 22), passed);
}

TEST_F(BlockExecutorTest, ABarrierAgainstAWarpCollectiveIsReportedAsADeadlock) {
  const std::string error = run_body(executor, dim3(3), dim3(8), [] {
    if (blockIdx.x == 0) return;
    if (threadIdx.x == 5) {
      __syncthreads();
    } else {
      __shfl(1, 0);
    }
  });
  EXPECT_THAT(error, AllOf(HasSubstr("deadlock in block (1,0,0)"),
                           HasSubstr("1 of 8 live threads wait at __syncthreads, first thread (5,0,0)"),
                           HasSubstr("thread (0,0,0) waits at a warp collective for lane 5 of warp 0")));
}

TEST_F(BlockExecutorTest, AnExecutorIsUsableAfterADeadlock) {
  EXPECT_NE("", run_body(executor, dim3(1), dim3(64), [] { threadIdx.x == 0 ? __syncthreads() : void(__ballot(1)); }));
  int sum = 0;
  EXPECT_EQ("", run_body(executor, dim3(2), dim3(64), [&] {
              __syncthreads();
              sum += static_cast<int>(threadIdx.x);
            }));
  EXPECT_EQ(2 * 64 * 63 / 2, sum);
}

TEST_F(BlockExecutorTest, DifferentCollectivesInOneWarpAreReported) {
  const std::string error =
      run_body(executor, dim3(1), dim3(2), [] { threadIdx.x == 0 ? void(__shfl(1, 0)) : void(__ballot(1)); });
  EXPECT_THAT(error, HasSubstr("meet at a shuffle and at a ballot"));
}

TEST_F(BlockExecutorTest, AnExceptionEndsTheLaunchAndStaysInside) {
  const std::string error = run_body(executor, dim3(1), dim3(64), [] {
    if (threadIdx.x == 63) throw std::runtime_error("index 7");
    __syncthreads();
  });
  EXPECT_EQ("the kernel threw an exception: index 7", error);
}

TEST_F(BlockExecutorTest, DynamicSharedMemoryIsPoisonedForEveryBlock) {
  int poisoned = 0;
  EXPECT_EQ("", run_body(
                    executor, dim3(3), dim3(1),
                    [&] {
                      HIP_DYNAMIC_SHARED(unsigned, words)
                      if (words[0] == 0xFFFFFFFFu && words[24] == 0xFFFFFFFFu) ++poisoned;
                      words[0] = words[24] = 0;
                    },
                    100));
  EXPECT_EQ(3, poisoned);
}

}  // namespace
}  // namespace moediff::hiphost
