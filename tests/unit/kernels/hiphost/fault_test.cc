// Illegal accesses: the fault hook tells what was hit, then the process ends as it would have without us.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/unit/kernels/hiphost/fixture.h"

namespace moediff::hiphost {
namespace {

__global__ void write_byte(std::uint8_t* bytes, std::int64_t at) { bytes[at] = 1; }
__global__ void read_byte(const volatile std::uint8_t* bytes, std::int64_t at) { (void)bytes[at]; }
__global__ void write_shared(int at) {
  HIP_DYNAMIC_SHARED(char, bytes)
  static_cast<volatile char*>(bytes)[at] = 1;
}

int descend(int depth, volatile char* above) {
  volatile char frame[1024];
  frame[0] = above[0];
  return depth == 0 ? frame[0] : descend(depth - 1, frame) + frame[0];
}
__global__ void overflow_stack(int depth, int* out) {
  volatile char first = 0;
  *out = descend(depth, &first);
}

void print_fault(void*, std::int32_t tag, const char* kernel, const char* label, std::int64_t distance,
                 std::int32_t is_write) {
  char text[512];  // snprintf is not async-signal safe in general; the process is about to end
  const int length = std::snprintf(text, sizeof text, "fault: step %d %s %s %s %+lld\n", tag, kernel,
                                   is_write != 0 ? "writes" : "reads", label, static_cast<long long>(distance));
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, static_cast<std::size_t>(length));
}

/// Each test runs its kernel in a child process, which must die with the line on stderr.
class FaultDeathTest : public HostBackendTest {
 protected:
  FaultDeathTest() {
    GTEST_FLAG_SET(death_test_style, "fast");
    control.set_hooks(nullptr, print_fault, nullptr);
    control.set_tag(3);
  }
  std::uint8_t* block(int kind = MD_MEMORY_VALUE) { return allocate<std::uint8_t>(128, "routed", kind); }
};

template <class Issue>
void run(Issue issue) {
  issue();
  (void)hipDeviceSynchronize();
}

TEST_F(FaultDeathTest, AWritePastTheEndIsNamedWithItsDistance) {
  std::uint8_t* bytes = block();
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(write_byte, 1, 1, 0, nullptr, bytes, std::int64_t{128}); }),
               "fault: step 3 write_byte writes routed \\+1\n");
}

TEST_F(FaultDeathTest, AReadBeforeTheFirstPageIsNamedWithItsDistance) {
  std::uint8_t* bytes = block();
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(read_byte, 1, 1, 0, nullptr, bytes, std::int64_t{-5000}); }),
               "fault: step 3 read_byte reads routed -5000\n");
}

TEST_F(FaultDeathTest, AnIndexThatIsFarOffStillHitsTheBlocksGuard) {
  std::uint8_t* bytes = block();
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(read_byte, 1, 1, 0, nullptr, bytes, std::int64_t{200000}); }),
               "reads routed \\+199873\n");
}

TEST_F(FaultDeathTest, AWeightIsReadOnlyOnceItWasCopiedIn) {
  std::uint8_t* weight = block(MD_MEMORY_WEIGHT);
  const std::vector<std::uint8_t> host(128, 1);
  ASSERT_EQ(0, backend.copy_in(weight, host.data(), 128));
  ASSERT_EQ(0, backend.copy_in(weight, host.data(), 128)) << "the host may write it again";
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(write_byte, 1, 1, 0, nullptr, weight, std::int64_t{5}); }),
               "fault: step 3 write_byte writes routed \\+0\n");
}

TEST_F(FaultDeathTest, AFreedBlockKeepsItsName) {
  std::uint8_t* bytes = block();
  ASSERT_EQ(0, backend.free_memory(bytes));
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(read_byte, 1, 1, 0, nullptr, bytes, std::int64_t{5}); }),
               "reads routed \\(freed\\) \\+0\n");
}

TEST_F(FaultDeathTest, ANullPointerIsCalledOne) {
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(read_byte, 1, 1, 0, nullptr, nullptr, std::int64_t{12}); }),
               "reads null pointer \\+12\n");
}

TEST_F(FaultDeathTest, DynamicSharedMemoryHasAGuardPage) {
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(write_shared, 1, 1, 256, nullptr, 256); }),
               "write_shared writes dynamic shared memory \\+1\n");
}

TEST_F(FaultDeathTest, AStackOverflowInAKernelIsNamed) {
  int* out = allocate<int>(1, "out");
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(overflow_stack, 1, 1, 0, nullptr, 1000, out); }),
               "fault: step 3 overflow_stack (reads|writes) stack overflow in kernel overflow_stack \\+0\n");
}

TEST_F(FaultDeathTest, ACopyPastTheEndIsNamed) {
  std::uint8_t* from = allocate<std::uint8_t>(256, "from");
  std::uint8_t* to = block();
  EXPECT_DEATH(run([&] { (void)backend.copy_async(to, 256, from, 256, 256, 1, nullptr); }),
               "fault: step 3 copy writes routed ");
}

TEST_F(FaultDeathTest, ARealThreadsFaultIsNamedToo) {
  std::uint8_t* bytes = block();
  hipStream_t stream = make_stream();
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_THREADS));
  EXPECT_DEATH(run([&] { hipLaunchKernelGGL(write_byte, 1, 1, 0, stream, bytes, std::int64_t{130}); }),
               "fault: step 3 write_byte writes routed \\+3\n");
}

}  // namespace
}  // namespace moediff::hiphost
