// A fresh host backend for each test, and short words for what tests do with it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/abi/moediff_abi.h"
#include "kernels/hiphost/include/hip/hip_runtime.h"

namespace moediff::hiphost {

/// Appends a number to a list in device memory: [count, numbers...].
inline __global__ void append(int* list, int number) { list[1 + list[0]++] = number; }

class HostBackendTest : public ::testing::Test {
 protected:
  HostBackendTest() { reset(); }
  ~HostBackendTest() override { reset(); }

  void reset() {
    control.reset();
    control.set_schedule(MD_SCHEDULE_SUBMISSION, 0, nullptr, 0, 1);
    control.set_hooks(nullptr, nullptr, nullptr);
    (void)hipGetLastError();
  }
  template <class T>
  T* allocate(std::int64_t count, const char* label, int kind = MD_MEMORY_VALUE) {
    void* pointer = nullptr;
    EXPECT_EQ(0, backend.allocate(&pointer, count * std::int64_t{sizeof(T)}, kind, label)) << backend.last_error();
    return static_cast<T*>(pointer);
  }
  template <class T>
  std::vector<T> read(const T* pointer, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(0, backend.copy_out(values.data(), pointer, std::int64_t(count * sizeof(T)))) << backend.last_error();
    return values;
  }
  /// Memory for `append`.
  int* make_list(int capacity) {
    int* list = allocate<int>(capacity + 1, "list");
    list[0] = 0;
    return list;
  }
  std::vector<int> appended(const int* list) { return {list + 1, list + 1 + list[0]}; }

  hipStream_t make_stream(unsigned flags = hipStreamNonBlocking) {
    hipStream_t stream = nullptr;
    EXPECT_EQ(hipSuccess, hipStreamCreateWithFlags(&stream, flags));
    return stream;
  }
  hipEvent_t make_event() {
    hipEvent_t event = nullptr;
    EXPECT_EQ(hipSuccess, hipEventCreate(&event));
    return event;
  }
  std::vector<int> executed() {
    const std::int32_t* order = nullptr;
    const std::int32_t count = control.executed(&order);
    return {order, order + count};
  }
  std::vector<md_item> trace() {
    const md_item* items = nullptr;
    const std::int32_t count = control.trace(&items);
    return {items, items + count};
  }
  std::vector<md_block> blocks() {
    const md_block* list = nullptr;
    const std::int32_t count = control.blocks(&list);
    return {list, list + count};
  }
  int set_schedule(int policy, std::uint64_t seed = 0, std::vector<std::int32_t> order = {}) {
    return control.set_schedule(policy, seed, order.data(), static_cast<std::int32_t>(order.size()), 1);
  }

  const md_backend& backend = *moediff_backend(MOEDIFF_ABI_VERSION);
  const md_host_control& control = *backend.host;
};

}  // namespace moediff::hiphost
