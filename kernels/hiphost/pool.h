// The stream-ordered pool behind hipMallocAsync: like PyTorch's allocator, a freed block goes at once, in host order,
// to the free list of the stream that freed it, and the next allocation of its size class on that stream gets it. So an
// address depends on the order of issue alone, never on the schedule.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/hiphost/memory.h"

namespace moediff::hiphost {

class Pool {
 public:
  explicit Pool(Memory& memory) : memory_(memory) {}

  /// A reused block takes over label, kind and size; its bytes change only when the alloc item is executed
  /// (Memory::begin_use). What providers allocate is kept apart from the rest, so that a block has one owner.
  /// Returns nullptr when the system has no memory.
  Block* take(std::int64_t bytes, md_memory_kind kind, const std::string& label, bool provider_owned, int stream);
  /// False when the block is not from the pool or was given back already.
  bool give(Block& block, int stream);
  /// False: a block is never handed out again.
  void set_reuse(bool reuse) { reuse_ = reuse; }
  void reset();

 private:
  struct Entry {
    std::int64_t size_class = 0;
    bool in_use = false;
  };
  Memory& memory_;
  bool reuse_ = true;
  std::map<const Block*, Entry> entries_;
  using Key = std::tuple<int, std::int64_t, bool>;  ///< stream, size class, provider owned
  std::map<Key, std::vector<Block*>> free_;         ///< last in, first out
};

}  // namespace moediff::hiphost
