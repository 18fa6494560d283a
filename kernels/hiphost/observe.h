// Observation: which pages of which blocks are read and written, by taking all access away and noting the first fault
// of each kind on each page.
//
// Exact claims: a page is noted as read when it was read before it was written; as written when it was written. A read
// behind a write on the same page is not seen. Pages are opened one by one whatever the block's size: opening a block
// as a whole would be faster, and the claim no longer exact.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/hiphost/memory.h"

namespace moediff::hiphost {

class Observer {
 public:
  explicit Observer(Memory& memory) : memory_(memory) {}

  bool active() const { return active_.load(std::memory_order_relaxed); }
  /// Takes access away from all values, workspaces and provider-owned blocks.
  void begin();
  /// A block made between begin and end.
  void add(Block& block);
  /// Restores access; ranges within blocks, merged. `problem`: "" or why the claims do not hold.
  std::vector<md_touch> end(std::string& problem);
  /// Memory::begin_use and end_use that leave no touch: poison and canaries are the runtime's, not the program's.
  void begin_use_unseen(Block& block, std::int64_t bytes, const std::string& label);
  void end_use_unseen(Block& block);
  /// Async-signal safe. True: the fault was an observed access, try it again.
  bool on_fault(const void* address, bool is_write);

 private:
  /// Opens the whole block, does the action, and takes the access away again; what was seen stays.
  template <class Action>
  void unseen(Block& block, Action action);

  Memory& memory_;
  std::atomic<bool> active_{false};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;  ///< held by the handler while it opens a page
  std::atomic<bool> failed_{false};           ///< the kernel refused to change a page's protection
};

/// The writable data of the loaded library that holds `symbol`, as one provider-owned block; nullptr when there is
/// none.
Block* adopt_library_data(Memory& memory, const void* symbol, const std::string& label);

}  // namespace moediff::hiphost
