// Fibers: several call stacks on one operating system thread, switched by Boost's fcontext with the address sanitizer
// told.
//
// Stacks come from slabs of equal slots, [guard | stack], so that the fault handler can tell a stack overflow by
// arithmetic alone. A fiber that has run to its end is dropped and its stack used again with a fresh context: no
// suspended frame ever moves to another thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace moediff::hiphost {

/// Usable memory of a stack: [bottom, bottom + bytes).
struct Stack {
  std::byte* bottom = nullptr;
  std::size_t bytes = 0;
};

/// Gives out stacks; thread safe. Memory is kept for good: its amount is that of the largest block ever run.
class StackPool {
 public:
  Stack take();
  void give(Stack stack);
  /// Async-signal safe.
  bool in_guard(const void* address) const;

 private:
  static constexpr std::size_t kSlabs = 1024;
  void add_slab();

  std::mutex mutex_;
  std::vector<Stack> free_;
  std::array<std::atomic<std::byte*>, kSlabs> slabs_{};
  std::atomic<std::size_t> slab_count_{0};
};

/// A place to continue: a suspended fiber, or the operating system thread's own stack.
struct Fiber {
  void* context = nullptr;     ///< fcontext_t while suspended
  void* fake_stack = nullptr;  ///< the address sanitizer's, while suspended
  Stack stack;
  void (*run)(Fiber& self) = nullptr;  ///< body; ends by leave_for, never by returning
};

/// Prepares `fiber` (with its stack) to start in `run` at the first switch to it.
void prepare(Fiber& fiber, void (*run)(Fiber& self));
/// Suspends `from`, which is running, and continues `to`. Returns when somebody switches back.
void switch_fiber(Fiber& from, Fiber& to);
/// Like switch_fiber, but `from` is never continued.
[[noreturn]] void leave_for(Fiber& from, Fiber& to);

}  // namespace moediff::hiphost
