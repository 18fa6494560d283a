// Stable counting sort in one block, without atomics: a thread owns experts, not slots, and meets the slots in
// ascending order, so the order of rows is a function of the ids alone. Ids go through shared memory a tile at a time.
#include "kernels/dispatch/dispatch.h"

namespace moediff::kernels {

constexpr int kTileSlots = 1024;

/// Copies the ids of slots [first, first + count) to shared memory.
__device__ inline void load_ids(Matrix<const std::int32_t> ids, std::int64_t first, int count, std::int32_t* tile) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    tile[i] = ids.row((first + i) / ids.columns)[(first + i) % ids.columns];
  }
}

/// Calls visit(expert, slot) for each slot of each expert of this thread, ascending slots; returns after all threads
/// have.
template <typename Visit>
__device__ void visit_slots(Matrix<const std::int32_t> ids, std::int64_t experts, std::int32_t* tile, Visit visit) {
  const std::int64_t slots = ids.rows * ids.columns;
  for (std::int64_t first = 0; first < slots; first += kTileSlots) {
    const int count = static_cast<int>(slots - first < kTileSlots ? slots - first : kTileSlots);
    load_ids(ids, first, count, tile);
    __syncthreads();
    for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
      for (int i = 0; i < count; ++i) {
        if (tile[i] == e) visit(e, first + i);
      }
    }
    __syncthreads();
  }
}

/// next[e] = sum of next[0, e), offsets likewise with the total at the end.
__device__ inline void exclusive_sum(std::int32_t* next, std::int64_t experts, std::int32_t* offsets) {
  __syncthreads();
  if (threadIdx.x == 0) {
    std::int32_t sum = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::int32_t count = next[e];
      offsets[e] = next[e] = sum;
      sum += count;
    }
    offsets[experts] = sum;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads)
    dispatch_kernel(Matrix<const std::int32_t> ids, std::int64_t experts, std::int32_t* offsets, std::int32_t* slots,
                    std::int32_t* slot_rows) {
  HIP_DYNAMIC_SHARED(std::int32_t, memory)
  std::int32_t* next = memory;  // [experts] rows so far, then the next row of each expert
  std::int32_t* tile = memory + experts;
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) next[e] = 0;
  for (std::int64_t s = threadIdx.x; s < ids.rows * ids.columns; s += kThreads) slot_rows[s] = -1;
  visit_slots(ids, experts, tile, [&](std::int64_t e, std::int64_t) { ++next[e]; });
  exclusive_sum(next, experts, offsets);
  visit_slots(ids, experts, tile, [&](std::int64_t e, std::int64_t slot) {
    slots[next[e]] = static_cast<std::int32_t>(slot);
    slot_rows[slot] = next[e]++;
  });
}

hipError_t launch_dispatch(Matrix<const std::int32_t> ids, std::int64_t experts, std::int32_t* offsets,
                           std::int32_t* slots, std::int32_t* slot_rows, hipStream_t stream) {
  const std::size_t bytes = static_cast<std::size_t>(experts + kTileSlots) * sizeof(std::int32_t);
  hipLaunchKernelGGL(dispatch_kernel, dim3(1), dim3(kThreads), bytes, stream, ids, experts, offsets, slots, slot_rows);
  return hipGetLastError();
}

}  // namespace moediff::kernels
