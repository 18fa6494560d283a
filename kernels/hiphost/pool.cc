// Free lists by stream and size class.
#include "kernels/hiphost/pool.h"

#include <algorithm>

namespace moediff::hiphost {
namespace {

std::int64_t size_class_of(std::int64_t bytes) {
  constexpr std::int64_t kStep = 512;
  return std::max<std::int64_t>((bytes + kStep - 1) / kStep * kStep, kStep);
}

}  // namespace

Block* Pool::take(std::int64_t bytes, md_memory_kind kind, const std::string& label, bool provider_owned, int stream) {
  const std::int64_t size_class = size_class_of(bytes);
  std::vector<Block*>& list = free_[{stream, size_class, provider_owned}];
  if (list.empty()) {
    Block* block = memory_.create(bytes, size_class, kind, label, provider_owned);
    if (block == nullptr) return nullptr;
    block->pooled = true;
    entries_[block] = {size_class, true};
    return block;
  }
  Block* block = list.back();
  list.pop_back();
  entries_[block].in_use = true;
  block->label = label;
  block->kind = kind;
  block->bytes = bytes;
  block->extent = std::max(block->extent, bytes);
  return block;
}

bool Pool::give(Block& block, int stream) {
  const auto entry = entries_.find(&block);
  if (entry == entries_.end() || !entry->second.in_use) return false;
  entry->second.in_use = false;
  if (reuse_) free_[{stream, entry->second.size_class, block.provider_owned}].push_back(&block);
  return true;
}

void Pool::reset() {
  entries_.clear();
  free_.clear();
}

}  // namespace moediff::hiphost
