// SIGSEGV: classify, report, chain. Only async-signal-safe code below the handler.
#include "kernels/hiphost/fault.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "kernels/abi/moediff_abi.h"
#include "kernels/hiphost/block_executor.h"
#include "kernels/hiphost/executing.h"

namespace moediff::hiphost {
namespace {

// A signal handler gets no argument of its own: these two are all the state it can reach.
const FaultContext* fault_context = nullptr;
struct sigaction next_action;

constexpr std::size_t kMinSignalStack = 64 << 10;
constexpr std::uintptr_t kNullPage = 64 << 10;

/// Label of a report, composed without allocating.
struct Label {
  char text[256] = {};
  Label& add(const char* part) {
    const std::size_t used = std::strlen(text);
    std::strncpy(text + used, part, sizeof text - used - 1);
    return *this;
  }
};

struct Report {
  Label label;
  std::int64_t distance = 0;
};

Report describe_block(const Block& block, const std::byte* address) {
  const bool idle = block.freed || block.used_bytes < 0;
  const std::byte* end = block.address + (block.used_bytes < 0 ? block.bytes : block.used_bytes);
  Report report;
  report.label.add(block.used_label.c_str());
  if (idle) report.label.add(" (freed)");
  if (address < block.address) report.distance = address - block.address;
  if (address >= end) report.distance = address - end + 1;
  return report;
}

Report describe(const FaultContext& context, const void* address, bool has_address) {
  Report report;
  if (!has_address) {
    report.label.add("no address (not canonical)");
    return report;
  }
  if (context.stacks->in_guard(address)) {
    report.label.add("stack overflow in kernel ").add(executing.kernel);
    return report;
  }
  if (executing.executor != nullptr && executing.executor->beside_shared(address, &report.distance)) {
    report.label.add("dynamic shared memory");
    return report;
  }
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (number < kNullPage) {
    report.label.add(MD_LABEL_NULL_POINTER);
    report.distance = static_cast<std::int64_t>(number);
    return report;
  }
  const Block* block = context.memory->nearest(address);
  return block != nullptr ? describe_block(*block, static_cast<const std::byte*>(address)) : report;
}

/// Ends the process the way it would have ended without us.
void die(int signal, const siginfo_t* info) {
  struct sigaction defaults = {};
  defaults.sa_handler = SIG_DFL;
  sigaction(signal, &defaults, nullptr);  // the access faults again
  if (info->si_code <= 0) raise(signal);  // sent by somebody: nothing would fault again
}

void chain(int signal, siginfo_t* info, void* user_context) {
  if ((next_action.sa_flags & SA_SIGINFO) != 0) {
    next_action.sa_sigaction(signal, info, user_context);
  } else if (next_action.sa_handler != SIG_DFL && next_action.sa_handler != SIG_IGN) {
    next_action.sa_handler(signal);
  } else {
    die(signal, info);
  }
}

bool is_write(const void* user_context) {
  constexpr greg_t kWriteBit = 2;  // of the page fault error code
  return (static_cast<const ucontext_t*>(user_context)->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0;
}

/// Not an observed access.
void report_and_chain(int signal, siginfo_t* info, void* user_context, bool page_fault) {
  static __thread bool inside __attribute__((tls_model("initial-exec"))) = false;
  if (inside) {  // the hook faulted, or a later handler calls us
    die(signal, info);
    return;
  }
  inside = true;
  const FaultContext& context = *fault_context;
  if (info->si_code > 0 && context.hook != nullptr) {
    const Report report = describe(context, info->si_addr, page_fault);
    context.hook(context.user, executing.tag, executing.kernel, report.label.text, report.distance,
                 is_write(user_context));
  }
  chain(signal, info, user_context);
  inside = false;
}

void on_segv(int signal, siginfo_t* info, void* user_context) {
  const int saved_errno = errno;
  const bool page_fault = info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
  const bool observed = page_fault && fault_context->observer->on_fault(info->si_addr, is_write(user_context));
  if (!observed) report_and_chain(signal, info, user_context, page_fault);
  errno = saved_errno;
}

}  // namespace

void install_fault_handler(const FaultContext& context) {
  fault_context = &context;
  struct sigaction current = {};
  sigaction(SIGSEGV, nullptr, &current);
  if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == &on_segv) return;
  next_action = current;
  struct sigaction ours = {};
  ours.sa_sigaction = &on_segv;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // nodefer: a fault in a later handler of the chain is seen
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, nullptr);
}

SignalStack::SignalStack() {
  stack_t before = {};
  sigaltstack(nullptr, &before);
  const auto needed = std::max(kMinSignalStack, static_cast<std::size_t>(std::max(sysconf(_SC_SIGSTKSZ), 0L)));
  if ((before.ss_flags & SS_DISABLE) == 0 && before.ss_size >= needed) return;
  void* memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  bytes_ = needed;
  before_ = before.ss_sp;
  before_bytes_ = before.ss_size;
  before_flags_ = before.ss_flags;
  stack_t ours = {};
  ours.ss_sp = memory;
  ours.ss_size = needed;
  sigaltstack(&ours, nullptr);
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t before = {};
  before.ss_sp = before_;
  before.ss_size = before_bytes_;
  before.ss_flags = before_flags_ & SS_DISABLE;
  sigaltstack(&before, nullptr);
  munmap(memory_, bytes_);
}

}  // namespace moediff::hiphost
