// The device side of HIP: where a thread is, barriers, warp collectives (64 lanes), atomics. Float math is libm.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "hip/detail/types.h"

namespace moediff::hiphost {

/// What a thread knows of its place. One for each operating system thread, rewritten when another device thread runs.
struct Place {
  uint3 thread, block, block_dim, grid_dim;
  unsigned lane;  ///< in its warp
};
extern __thread Place place __attribute__((tls_model("initial-exec")));

enum class WarpOp : int { shuffle, ballot };

void barrier();
/// Waits for all live lanes of the warp. shuffle: the value of lane `source` (0 when that lane has ended); ballot: a
/// bit for each lane with a non-zero value.
std::uint64_t warp_collective(WarpOp op, std::uint64_t value, unsigned source);
/// The block's dynamic shared memory: 64-byte aligned start, poisoned with 0xFF for each block, guard page behind it.
void* dynamic_shared();

template <class T>
T shuffle(T value, unsigned source) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                "a lane's value has at most 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = warp_collective(WarpOp::shuffle, bits, source);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

/// A read and a write of *address, as one atomic step; returns the old value. By compare-exchange for every type, so
/// that observation sees the read too (a fetch-and-add would fault as a write only).
template <class T, class Update>
T atomic_update(T* address, Update update) {
  T before;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  T after = update(before);
  while (!__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    after = update(before);
  }
  return before;
}

}  // namespace moediff::hiphost

#define threadIdx (::moediff::hiphost::place.thread)
#define blockIdx (::moediff::hiphost::place.block)
#define blockDim (::moediff::hiphost::place.block_dim)
#define gridDim (::moediff::hiphost::place.grid_dim)
inline constexpr int warpSize = 64;

/// Names the dynamic shared memory in a kernel: HIP_DYNAMIC_SHARED(float, tile) declares float* tile.
#define HIP_DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(::moediff::hiphost::dynamic_shared());

inline void __syncthreads() { ::moediff::hiphost::barrier(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

inline unsigned __lane_id() { return ::moediff::hiphost::place.lane; }

// Lanes outside the group of `width` lanes read their own value, as on AMD.
template <class T>
T __shfl(T value, int source, int width = warpSize) {
  const unsigned group = __lane_id() & ~unsigned(width - 1);
  return ::moediff::hiphost::shuffle(value, group + (unsigned(source) & unsigned(width - 1)));
}
template <class T>
T __shfl_xor(T value, int mask, int width = warpSize) {
  const unsigned self = __lane_id(), source = self ^ unsigned(mask);
  const unsigned group_end = (self + unsigned(width)) & ~unsigned(width - 1);
  return ::moediff::hiphost::shuffle(value, source >= group_end ? self : source);
}
template <class T>
T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const unsigned self = __lane_id(), in_group = self & unsigned(width - 1);
  return ::moediff::hiphost::shuffle(value, delta > in_group ? self : self - delta);
}
template <class T>
T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const unsigned self = __lane_id(), in_group = self & unsigned(width - 1);
  return ::moediff::hiphost::shuffle(value, in_group + delta >= unsigned(width) ? self : self + delta);
}
/// The bits of lanes that have ended, or never were, are 0.
inline unsigned long long __ballot(int predicate) {
  return ::moediff::hiphost::warp_collective(::moediff::hiphost::WarpOp::ballot, predicate != 0, 0);
}
inline int __any(int predicate) { return __ballot(predicate) != 0; }
inline int __all(int predicate) { return __ballot(predicate == 0) == 0; }

template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return ::moediff::hiphost::atomic_update(address, [value](T old) { return T(old + value); });
}
template <class T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return ::moediff::hiphost::atomic_update(address, [value](T old) { return T(old - value); });
}
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return ::moediff::hiphost::atomic_update(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return ::moediff::hiphost::atomic_update(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return ::moediff::hiphost::atomic_update(address, [value](T) { return value; });
}
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return ::moediff::hiphost::atomic_update(address, [=](T old) { return old == compare ? value : old; });
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }

inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
