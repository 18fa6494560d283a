// Blocks, poison, red zones, the pool, copies.
#include <cstring>

#include "tests/unit/kernels/hiphost/fixture.h"

namespace moediff::hiphost {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

__global__ void poke(std::uint8_t* bytes, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) bytes[first + i] = 7;
}

class DeviceMemoryTest : public HostBackendTest {
 protected:
  std::uint8_t* allocate_async(std::int64_t bytes, hipStream_t stream, const char* label = "pooled") {
    void* pointer = nullptr;
    EXPECT_EQ(0, backend.allocate_async(&pointer, bytes, MD_MEMORY_VALUE, label, stream)) << backend.last_error();
    return static_cast<std::uint8_t*>(pointer);
  }
  void poke_now(std::uint8_t* bytes, std::int64_t first, std::int64_t count) {
    hipLaunchKernelGGL(poke, 1, 1, 0, nullptr, bytes, first, count);
    ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  }
  hipStream_t a = make_stream(), b = make_stream();
};

TEST_F(DeviceMemoryTest, NewMemoryIsPoisonedAlignedAndEndsAtAGuardPage) {
  for (const std::int64_t bytes : {1, 63, 64, 100, 4096, 4097, 70000}) {
    auto* block = allocate<std::uint8_t>(bytes, "block");
    EXPECT_THAT(std::vector<std::uint8_t>(block, block + bytes), Each(0xFF));
    EXPECT_EQ(0u, reinterpret_cast<std::uintptr_t>(block) % 64);
    EXPECT_LT((4096 - (reinterpret_cast<std::uintptr_t>(block) + std::uintptr_t(bytes)) % 4096) % 4096, 64u) << bytes;
  }
}

TEST_F(DeviceMemoryTest, ARedZoneShowsWhoWroteBesideABlockOnce) {
  auto* block = allocate<std::uint8_t>(100, "gemm1_out");
  EXPECT_STREQ("", control.check_red_zones());
  poke_now(block, 96, 8);
  poke_now(block, -1, 1);
  EXPECT_STREQ("1 byte before gemm1_out; 4 bytes past gemm1_out", control.check_red_zones());
  EXPECT_STREQ("", control.check_red_zones());
}

TEST_F(DeviceMemoryTest, ARedZoneOfAPooledBlockIsCheckedBeforeItsNextUse) {
  std::uint8_t* first = allocate_async(100, nullptr, "first");
  hipLaunchKernelGGL(poke, 1, 1, 0, nullptr, first, std::int64_t{100}, std::int64_t{3});
  ASSERT_EQ(0, backend.free_async(first, nullptr));
  ASSERT_EQ(first, allocate_async(200, nullptr, "second"));
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_STREQ("3 bytes past first", control.check_red_zones());
}

TEST_F(DeviceMemoryTest, AHookMayCheckRedZonesWhileALaterUseOfTheBlockIsAlreadyIssued) {
  struct Checks {
    const md_host_control* control;
    std::vector<std::string> texts;
  } checks{&control, {}};
  control.set_hooks(
      [](void* user, std::int32_t, std::int32_t begin) {
        auto& c = *static_cast<Checks*>(user);
        if (begin == 0) c.texts.emplace_back(c.control->check_red_zones());
      },
      nullptr, &checks);
  control.set_tag(0);
  std::uint8_t* first = allocate_async(300, nullptr, "first");
  hipLaunchKernelGGL(poke, 1, 1, 0, nullptr, first, std::int64_t{0}, std::int64_t{302});
  control.set_tag(1);
  ASSERT_EQ(0, backend.free_async(first, nullptr));
  ASSERT_EQ(first, allocate_async(100, nullptr, "second"));
  ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_THAT(checks.texts, ElementsAre("2 bytes past first", ""));
}

TEST_F(DeviceMemoryTest, ThePoolHandsAFreedBlockOutAgainOnTheSameStreamOnly) {
  std::uint8_t* first = allocate_async(1000, a);
  ASSERT_EQ(0, backend.free_async(first, a));
  EXPECT_NE(first, allocate_async(1000, b));
  EXPECT_NE(first, allocate_async(100, a)) << "another size class";
  EXPECT_EQ(first, allocate_async(900, a)) << "the same size class";
  EXPECT_NE(first, allocate_async(1000, a)) << "in use again";
  const std::vector<md_item> items = trace();
  ASSERT_EQ(6u, items.size());
  EXPECT_EQ(items[0].block, items[1].block);
  EXPECT_EQ(items[0].block, items[4].block);
  EXPECT_EQ(MD_ITEM_FREE, items[1].kind);
}

TEST_F(DeviceMemoryTest, AddressesDoNotDependOnTheSchedule) {
  std::vector<std::vector<int>> numbers;
  for (int policy = MD_SCHEDULE_SUBMISSION; policy <= MD_SCHEDULE_THREADS; ++policy) {
    reset();
    a = make_stream(), b = make_stream();
    ASSERT_EQ(0, set_schedule(policy, 5));
    for (int i = 0; i < 4; ++i) {
      std::uint8_t* mine = allocate_async(600, i % 2 == 0 ? a : b);
      if (i == 1) {
        ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
      }
      ASSERT_EQ(0, backend.free_async(mine, b));
    }
    ASSERT_EQ(hipSuccess, hipDeviceSynchronize());
    numbers.emplace_back();
    for (const md_item& item : trace()) numbers.back().push_back(item.block);
  }
  EXPECT_THAT(numbers, Each(numbers[0]));
}

TEST_F(DeviceMemoryTest, WithoutReuseAFreedBlockIsNeverHandedOutAgain) {
  control.set_schedule(MD_SCHEDULE_SUBMISSION, 0, nullptr, 0, 0);
  std::uint8_t* first = allocate_async(1000, a);
  ASSERT_EQ(0, backend.free_async(first, a));
  EXPECT_NE(first, allocate_async(1000, a));
}

TEST_F(DeviceMemoryTest, PoisonComesInStreamOrderSoThatALateReaderSeesIt) {
  std::uint8_t* source = allocate_async(512, a);
  auto* early = allocate<std::uint8_t>(512, "early");
  auto* late = allocate<std::uint8_t>(512, "late");
  ASSERT_EQ(0, backend.fill_async(source, 9, 512, a));
  ASSERT_EQ(0, backend.copy_async(early, 512, source, 512, 512, 1, a));
  ASSERT_EQ(0, backend.free_async(source, a));
  ASSERT_EQ(source, allocate_async(512, a));
  ASSERT_EQ(0, backend.copy_async(late, 512, source, 512, 512, 1, a));
  ASSERT_EQ(0, backend.device_synchronize());
  EXPECT_THAT(read(early, 512), Each(9));
  EXPECT_THAT(read(late, 512), Each(0xFF));
}

TEST_F(DeviceMemoryTest, FreeingTwiceOrSomethingElseIsAnError) {
  std::uint8_t* block = allocate_async(64, a);
  EXPECT_NE(0, backend.free_async(block + 1, a));
  EXPECT_EQ(0, backend.free_async(block, a));
  EXPECT_NE(0, backend.free_async(block, a));
  EXPECT_NE(0, backend.free_memory(&block));
}

TEST_F(DeviceMemoryTest, AStridedCopyLeavesTheGapsAlone) {
  auto* from = allocate<std::uint8_t>(12, "from");
  auto* to = allocate<std::uint8_t>(8, "to");
  for (std::uint8_t i = 0; i < 12; ++i) from[i] = i;
  ASSERT_EQ(0, backend.copy_async(to, 3, from, 4, 2, 3, nullptr));
  ASSERT_EQ(0, backend.device_synchronize());
  EXPECT_THAT(read(to, 8), ElementsAre(0, 1, 0xFF, 4, 5, 0xFF, 8, 9));
  EXPECT_EQ(8, trace().at(0).bytes);
}

TEST_F(DeviceMemoryTest, HostMemoryMayChangeAfterAnAsynchronousCopyFromIt) {
  int source = 5, result = 0;
  int* device = allocate<int>(1, "device");
  ASSERT_EQ(hipSuccess, hipMemcpyAsync(device, &source, sizeof source, hipMemcpyHostToDevice, a));
  source = 6;
  ASSERT_EQ(hipSuccess, hipMemcpyAsync(&result, device, sizeof result, hipMemcpyDeviceToHost, a));
  EXPECT_EQ(5, result);
}

}  // namespace
}  // namespace moediff::hiphost
