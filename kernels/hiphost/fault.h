// The access fault handler: notes observed accesses, names illegal ones, and passes everything else on to whoever
// handled SIGSEGV before (a sanitizer, Python, gtest, nobody).
#pragma once

#include "kernels/abi/moediff_abi.h"
#include "kernels/hiphost/fiber.h"
#include "kernels/hiphost/memory.h"
#include "kernels/hiphost/observe.h"

namespace moediff::hiphost {

/// What the handler looks at; outlives it.
struct FaultContext {
  Memory* memory = nullptr;
  Observer* observer = nullptr;
  StackPool* stacks = nullptr;
  md_fault_hook hook = nullptr;
  void* user = nullptr;
};

/// Makes ours the SIGSEGV handler unless it is already; the one before it becomes the next in the chain.
void install_fault_handler(const FaultContext& context);

/// While alive, signals of this thread have a stack of their own that is large enough: the kernel's or fiber's may be
/// what overflowed, and the frame with all vector registers takes 12 KB.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  void* before_ = nullptr;
  std::size_t before_bytes_ = 0;
  int before_flags_ = 0;
};

}  // namespace moediff::hiphost
