// Stacks in slabs, and the switch wrapper round Boost's fcontext.
#include "kernels/hiphost/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define MOEDIFF_HIPHOST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MOEDIFF_HIPHOST_ASAN 1
#endif
#endif
#ifdef MOEDIFF_HIPHOST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace moediff::hiphost {
namespace {

#ifdef MOEDIFF_HIPHOST_ASAN
constexpr std::size_t kStackBytes = 128 << 10;
#else
constexpr std::size_t kStackBytes = 64 << 10;
#endif
constexpr std::size_t kGuardBytes = 16 << 10;
constexpr std::size_t kSlotBytes = kGuardBytes + kStackBytes;
constexpr std::size_t kSlotsPerSlab = 64;

// Tops of equal alignment would all lie in one set of the first-level cache; this spreads them.
constexpr std::size_t kColours = 32, kColourBytes = 128;

void before_switch(Fiber& from, const Fiber& to, bool last) {
#ifdef MOEDIFF_HIPHOST_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack, to.stack.bottom, to.stack.bytes);
#else
  (void)from, (void)to, (void)last;
#endif
}

void after_switch(Fiber& self, Fiber& from) {
#ifdef MOEDIFF_HIPHOST_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(self.fake_stack, &bottom, &bytes);
  // The only way to learn the bounds of the operating system thread's stack.
  from.stack = {static_cast<std::byte*>(const_cast<void*>(bottom)), bytes};
#else
  (void)self, (void)from;
#endif
}

/// Travels with the jump; lives on the stack that is left.
struct Handover {
  Fiber* from;
  Fiber* to;
};

void arrive(boost::context::detail::transfer_t transfer) {
  const Handover handover = *static_cast<Handover*>(transfer.data);
  handover.from->context = transfer.fctx;
  after_switch(*handover.to, *handover.from);
}

void enter(boost::context::detail::transfer_t transfer) {
  Fiber& self = *static_cast<Handover*>(transfer.data)->to;
  arrive(transfer);
  self.run(self);
  std::abort();  // run ends by leave_for
}

}  // namespace

Stack StackPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) add_slab();
  const Stack stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::give(Stack stack) {
  const std::lock_guard lock(mutex_);
  free_.push_back(stack);
}

bool StackPool::in_guard(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  for (std::size_t i = 0; i < slab_count_.load(std::memory_order_acquire); ++i) {
    const std::byte* slab = slabs_[i].load(std::memory_order_relaxed);
    if (byte < slab || byte >= slab + kSlotsPerSlab * kSlotBytes) continue;
    return static_cast<std::size_t>(byte - slab) % kSlotBytes < kGuardBytes;
  }
  return false;
}

void StackPool::add_slab() {
  const std::size_t index = slab_count_.load();
  void* memory = mmap(nullptr, kSlotsPerSlab * kSlotBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || index == kSlabs) std::abort();  // 64 Ki stacks: more threads than a block may have
  auto* slab = static_cast<std::byte*>(memory);
  for (std::size_t slot = kSlotsPerSlab; slot-- > 0;) {
    std::byte* guard = slab + slot * kSlotBytes;
    if (mprotect(guard, kGuardBytes, PROT_NONE) != 0) std::abort();
    free_.push_back({guard + kGuardBytes, kStackBytes - (slot % kColours) * kColourBytes});
  }
  slabs_[index].store(slab, std::memory_order_relaxed);
  slab_count_.store(index + 1, std::memory_order_release);
}

void prepare(Fiber& fiber, void (*run)(Fiber& self)) {
#ifdef MOEDIFF_HIPHOST_ASAN
  // Frames of the stack's last user that were left without returning.
  __asan_unpoison_memory_region(fiber.stack.bottom, fiber.stack.bytes);
#endif
  fiber.run = run;
  fiber.fake_stack = nullptr;
  fiber.context =
      boost::context::detail::make_fcontext(fiber.stack.bottom + fiber.stack.bytes, fiber.stack.bytes, enter);
}

void switch_fiber(Fiber& from, Fiber& to) {
  Handover handover{&from, &to};
  before_switch(from, to, false);
  arrive(boost::context::detail::jump_fcontext(to.context, &handover));
}

void leave_for(Fiber& from, Fiber& to) {
  Handover handover{&from, &to};
  before_switch(from, to, true);
  boost::context::detail::jump_fcontext(to.context, &handover);
  std::abort();
}

}  // namespace moediff::hiphost
