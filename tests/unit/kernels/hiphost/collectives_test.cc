// Kernels as they are written for a GPU: reductions, shuffles, votes, atomics.
#include <numeric>

#include "tests/unit/kernels/hiphost/fixture.h"

namespace moediff::hiphost {
namespace {

/// Sum of each block's 256 numbers, by a tree in static shared memory.
__global__ void __launch_bounds__(256) tree_sum(const int* numbers, int* sums) {
  __shared__ int tile[256];
  const unsigned thread = threadIdx.x;
  tile[thread] = numbers[blockIdx.x * 256 + thread];
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (thread < half) tile[thread] += tile[thread + half];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = tile[0];
}

/// The same by warp shuffles and dynamic shared memory.
template <class T, int kThreads>
__global__ void warp_sum(const T* numbers, T* sums) {
  HIP_DYNAMIC_SHARED(T, partial)
  const unsigned thread = threadIdx.x;
  T sum = numbers[blockIdx.x * kThreads + thread];
  for (int mask = 32; mask > 0; mask /= 2) sum += __shfl_xor(sum, mask);
  if (thread % warpSize == 0) partial[thread / warpSize] = sum;
  __syncthreads();
  if (thread == 0) {
    for (int warp = 1; warp < kThreads / warpSize; ++warp) sum += partial[warp];
    sums[blockIdx.x] = sum;
  }
}

__global__ void shuffle_table(int* out) {
  const int lane = static_cast<int>(__lane_id());
  int* row = out + lane * 8;
  row[0] = __shfl(lane, 5);
  row[1] = __shfl(lane, 5, 16);
  row[2] = __shfl_up(lane, 3);
  row[3] = __shfl_down(lane, 3);
  row[4] = __shfl_up(lane, 3, 8);
  row[5] = __shfl_down(lane, 3, 8);
  row[6] = __shfl_xor(lane, 9);
  row[7] = __shfl_xor(lane, 9, 8);
}

__global__ void read_an_ended_lane(int* out) {
  const int before = __shfl(41, 5);
  if (threadIdx.x == 5) return;
  const int after = __shfl(42, 5);
  if (threadIdx.x == 0) {
    out[0] = before;
    out[1] = after;
  }
}

__global__ void votes(unsigned long long* out) {
  const int lane = static_cast<int>(__lane_id());
  const unsigned long long ballot = __ballot(lane % 3 == 0);
  const int any = __any(lane == 17), none = __any(lane > 100), all = __all(lane < 64), not_all = __all(lane != 3);
  if (lane == 0) {
    out[0] = ballot;
    out[1] = static_cast<unsigned long long>(any * 1000 + none * 100 + all * 10 + not_all);
  }
}

__global__ void count_all(int* ints, unsigned* unsigneds, float* floats, unsigned long long* longs) {
  const auto thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&ints[0], 1);
  atomicMax(&ints[1], thread);
  atomicMin(&ints[2], -thread);
  if (atomicCAS(&ints[3], 0, thread + 1) == 0) atomicExch(&ints[4], thread);
  atomicAdd(unsigneds, 3u);
  atomicAdd(floats, 0.5f);
  atomicAdd(longs, 1ull << 33);
}

class CollectivesTest : public HostBackendTest {
 protected:
  std::vector<int> numbers_(int count) {
    std::vector<int> numbers(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = i * i % 101 - 50;
    return numbers;
  }
};

TEST_F(CollectivesTest, ATreeInSharedMemorySumsEachBlock) {
  const std::vector<int> host = numbers_(3 * 256);
  int* numbers = allocate<int>(3 * 256, "numbers");
  int* sums = allocate<int>(3, "sums");
  ASSERT_EQ(0, backend.copy_in(numbers, host.data(), 3 * 256 * 4));
  hipLaunchKernelGGL(tree_sum, dim3(3), dim3(256), 0, nullptr, numbers, sums);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  for (std::ptrdiff_t block = 0; block < 3; ++block) {
    EXPECT_EQ(std::accumulate(host.begin() + block * 256, host.begin() + (block + 1) * 256, 0), sums[block]);
  }
}

TEST_F(CollectivesTest, ShufflesAndDynamicSharedMemorySumEachBlock) {
  const std::vector<int> host = numbers_(2 * 128);
  int* numbers = allocate<int>(2 * 128, "numbers");
  int* sums = allocate<int>(2, "sums");
  ASSERT_EQ(0, backend.copy_in(numbers, host.data(), 2 * 128 * 4));
  hipLaunchKernelGGL(HIP_KERNEL_NAME(warp_sum<int, 128>), 2, 128, 2 * sizeof(int), nullptr, numbers, sums);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(std::accumulate(host.begin(), host.begin() + 128, 0), sums[0]);
  EXPECT_EQ(std::accumulate(host.begin() + 128, host.end(), 0), sums[1]);
  EXPECT_STREQ("warp_sum<int, 128>", trace().at(0).name);
}

TEST_F(CollectivesTest, ShufflesReadTheLanesThatAmdHardwareReads) {
  int* out = allocate<int>(64 * 8, "out");
  hipLaunchKernelGGL(shuffle_table, 1, 64, 0, nullptr, out);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  const auto row = [out](int lane) { return std::vector<int>(out + lane * 8, out + lane * 8 + 8); };
  using ::testing::ElementsAre;
  EXPECT_THAT(row(0), ElementsAre(5, 5, 0, 3, 0, 3, 9, 0));
  EXPECT_THAT(row(7), ElementsAre(5, 5, 4, 10, 4, 7, 14, 7));
  EXPECT_THAT(row(9), ElementsAre(5, 5, 6, 12, 9, 12, 0, 0));
  EXPECT_THAT(row(63), ElementsAre(5, 53, 60, 63, 60, 63, 54, 54));
}

TEST_F(CollectivesTest, ALaneThatHasEndedReadsAsZero) {
  int* out = allocate<int>(2, "out");
  hipLaunchKernelGGL(read_an_ended_lane, 1, 64, 0, nullptr, out);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(41, out[0]);
  EXPECT_EQ(0, out[1]);
}

TEST_F(CollectivesTest, VotesSeeLiveLanesOnly) {
  auto* out = allocate<unsigned long long>(2, "out");
  hipLaunchKernelGGL(votes, 1, 40, 0, nullptr, out);
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(0x0000009249249249ull, out[0]);  // every third bit below 40
  EXPECT_EQ(1010u, out[1]);
}

TEST_F(CollectivesTest, AtomicsCountUnderRealThreads) {
  int* ints = allocate<int>(5, "ints");
  auto* unsigneds = allocate<unsigned>(1, "unsigneds");
  auto* floats = allocate<float>(1, "floats");
  auto* longs = allocate<unsigned long long>(1, "longs");
  for (void* pointer : {(void*)ints, (void*)unsigneds, (void*)floats, (void*)longs}) {
    ASSERT_EQ(0, backend.fill_async(pointer, 0, pointer == ints ? 20 : 4, nullptr));
  }
  ASSERT_EQ(0, backend.fill_async(longs, 0, 8, nullptr));
  ASSERT_EQ(0, backend.device_synchronize());
  ASSERT_EQ(0, set_schedule(MD_SCHEDULE_THREADS));
  for (int i = 0; i < 4; ++i) {
    hipLaunchKernelGGL(count_all, 10, 100, 0, make_stream(), ints, unsigneds, floats, longs);
  }
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(4000, ints[0]);
  EXPECT_EQ(999, ints[1]);
  EXPECT_EQ(-999, ints[2]);
  EXPECT_EQ(ints[3] - 1, ints[4]);
  EXPECT_EQ(12000u, *unsigneds);
  EXPECT_EQ(2000.0f, *floats);
  EXPECT_EQ(4000ull << 33, *longs);
}

}  // namespace
}  // namespace moediff::hiphost
