// Runs a kernel launch on the calling thread, block after block.
//
// The threads of a block are called one after another on one fiber. Only when a thread has to wait (barrier, warp
// collective) does another fiber take over: to start the threads that follow, or to continue one that may go on. A
// kernel without barriers is therefore a plain loop. Fibers switch directly to each other, one switch per wait.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/hiphost/fiber.h"
#include "kernels/hiphost/include/hip/hip_runtime.h"

namespace moediff::hiphost {

class BlockExecutor {
 public:
  explicit BlockExecutor(StackPool& stacks);
  ~BlockExecutor();
  BlockExecutor(const BlockExecutor&) = delete;
  BlockExecutor& operator=(const BlockExecutor&) = delete;

  /// Runs all blocks. Returns "" or what ended the launch early: a deadlock, an exception, mixed warp collectives.
  std::string run(const Launch& launch);
  /// How the error of a launch begins whose threads wait for each other for ever.
  static constexpr std::string_view kDeadlock = "deadlock in block ";
  /// Switches from one waiting thread to another since construction.
  std::int64_t switches() const { return switches_; }
  /// Async-signal safe: is the address beside the dynamic shared memory, and by how much (see fault.h)?
  bool beside_shared(const void* address, std::int64_t* distance) const;

  // For the running kernel (device.h).
  void barrier();
  std::uint64_t warp_collective(WarpOp op, std::uint64_t value, unsigned source);
  void* dynamic_shared() const { return shared_; }

 private:
  struct Worker : Fiber {
    BlockExecutor* executor = nullptr;
    uint3 thread{};  ///< and lane: of its thread, while it waits
    unsigned lane = 0;
  };
  /// One bit a lane. Results lie apart from the values of the next collective, which may begin before all have read.
  struct Warp {
    std::uint64_t live = 0, arrived = 0;
    WarpOp op = WarpOp::shuffle;
    std::uint64_t values[64], results[64];
    unsigned sources[64];
    Worker* waiting[64];
  };

  static void worker_main(Fiber& self);
  void start_launch(const Launch& launch);
  void start_block();
  bool next_block();
  void start_thread();
  void thread_ended();
  void release_barrier();
  void complete(Warp& warp, const Worker* self);
  void wait();
  Worker& take_worker();
  Worker* take_ready();
  [[noreturn]] void abandon(std::string error);
  std::string deadlock_text() const;

  StackPool& stacks_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< all that exist
  std::vector<Worker*> idle_;
  std::vector<Worker*> ready_;  ///< first in, first out from ready_head_
  std::size_t ready_head_ = 0;
  std::vector<Worker*> at_barrier_;
  std::vector<Warp> warps_;
  Fiber home_;  ///< where run() waits
  Worker* current_ = nullptr;
  const Launch* launch_ = nullptr;
  unsigned threads_ = 0, started_ = 0, live_ = 0;  ///< of the current block; live: not ended
  uint3 next_thread_{};                            ///< the one that starts next
  std::byte* shared_map_ = nullptr;
  std::byte* shared_ = nullptr;
  std::int64_t switches_ = 0;
  std::string error_;
};

/// Largest dynamic shared memory and block, as on gfx90a.
inline constexpr std::size_t kSharedBytes = 64 << 10;
inline constexpr unsigned kMaxBlockThreads = 1024;

}  // namespace moediff::hiphost
