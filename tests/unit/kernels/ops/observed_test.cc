// What the host backend sees of an op: a correct one touches its operands and nothing else, a faulty one is caught in
// what it touches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

/// Touches of one shared_gemm1 (3 tokens, 16 hidden, 8 columns) on memory that the provider owns.
std::vector<md_touch> touches_of_own_memory(Device& device, const std::string& variant) {
  EXPECT_EQ(device.select(variant), 0);
  const md_host_control& host = *device.backend().host;
  EXPECT_EQ(host.watch_library(reinterpret_cast<const void*>(device.provider().call), "builtin"), 0);
  const std::vector<md_tensor> tensors = {device.upload(integers({3, 16}, 1), MD_BF16),
                                          device.upload(integers({8, 16}, 2), MD_BF16), device.blank({3, 8}, MD_BF16)};
  EXPECT_EQ(host.observe_begin(), 0);
  EXPECT_EQ(device.enqueue(MD_OP_SHARED_GEMM1, tensors), 0);
  EXPECT_EQ(device.synchronize(), 0);
  const md_touch* touches = nullptr;
  const md_block* blocks = nullptr;
  const int count = host.observe_end(&touches);
  EXPECT_GE(count, 3) << "the operands at least";
  EXPECT_GE(host.blocks(&blocks), 4);
  std::vector<md_touch> own;
  std::copy_if(touches, touches + count, std::back_inserter(own),
               [&](const md_touch& touch) { return blocks[touch.block].provider_owned == 1; });
  return own;
}

TEST(Observed, ACorrectOpTouchesNoMemoryOfItsProvider) {
  Device device;
  EXPECT_THAT(touches_of_own_memory(device, ""), ::testing::IsEmpty());
}

TEST(Observed, StaticScratchIsAWriteIntoTheProvidersOwnMemory) {
  Device device;
  const std::vector<md_touch> own = touches_of_own_memory(device, "shared_gemm1=static_scratch");
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].what, MD_TOUCH_WRITE);
}

/// gemm2 whose operands each have memory of their own.
void run_gemm2(const std::string& variant) {
  Device device;
  EXPECT_EQ(device.select(variant), 0);
  device.run(MD_OP_GEMM2, {device.upload(integers({3, 16}, 3), MD_BF16), device.upload(offsets_of({3}), MD_I32),
                           device.upload(integers({1, 16, 16}, 4), MD_BF16), device.blank({3, 16}, MD_BF16)});
}

TEST(ObservedDeathTest, AccessesOutOfBoundsLeaveTheBlockByMoreThanItsPadding) {
  run_gemm2("");
  EXPECT_DEATH(run_gemm2("gemm2=out_of_bounds"), "");
  EXPECT_DEATH(run_gemm2("gemm2=reads_out_of_bounds"), "");
}

}  // namespace
}  // namespace moediff::test
