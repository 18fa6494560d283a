// mprotect by page; the state of a page is two bits, which also say how far it is open.
#include "kernels/hiphost/observe.h"

#include <sys/mman.h>

#include <algorithm>

namespace moediff::hiphost {
namespace {

enum : std::uint8_t { kSeenRead = 1, kSeenWrite = 2 };

bool watched(const Block& block) { return !block.freed && (block.provider_owned || block.kind != MD_MEMORY_WEIGHT); }

struct Range {
  std::byte* begin;
  std::byte* end;
};

/// Pages of the block without its hole, as up to two ranges.
void add_ranges(const Block& block, std::vector<Range>& ranges) {
  if (block.hole == nullptr) {
    ranges.push_back({block.first_page, block.pages_end()});
    return;
  }
  std::byte* hole_end = block.hole + block.hole_pages * page_bytes();
  if (block.hole > block.first_page) ranges.push_back({block.first_page, block.hole});
  if (hole_end < block.pages_end()) ranges.push_back({hole_end, block.pages_end()});
}

/// Guards lie between blocks and are without access anyway, so neighbouring mappings are protected by one call.
std::vector<Range> batched(std::vector<Range> ranges, const Memory& memory) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    const Block* last = merged.empty() ? nullptr : memory.nearest(merged.back().end - 1);
    const Block* next = memory.nearest(range.begin);
    const bool adjacent =
        last != nullptr && last->map != nullptr && next->map != nullptr && last->map + last->map_bytes == next->map;
    if (adjacent) {
      merged.back().end = range.end;
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

/// Runs of pages with the bit, clipped to the block's bytes.
void add_touches(const Block& block, std::uint8_t bit, int what, std::vector<md_touch>& touches) {
  const auto page = static_cast<std::int64_t>(page_bytes());
  const std::int64_t first = block.first_page - block.address;  // of page 0 in the block, <= 0
  for (std::size_t begin = 0; begin < block.pages;) {
    std::size_t end = begin;
    while (end < block.pages && (block.seen[end] & bit) != 0) ++end;
    const std::int64_t from = std::max<std::int64_t>(first + static_cast<std::int64_t>(begin) * page, 0);
    const std::int64_t to = std::min<std::int64_t>(first + static_cast<std::int64_t>(end) * page, block.extent);
    if (end > begin && from < to) touches.push_back({block.number, what, from, to});
    begin = end + 1;
  }
}

}  // namespace

void Observer::begin() {
  std::vector<Range> ranges;
  for (const auto& block : memory_.blocks()) {
    if (!watched(*block)) continue;
    block->seen.assign(block->pages, 0);
    add_ranges(*block, ranges);
  }
  ranges = batched(std::move(ranges), memory_);
  failed_ = false;
  active_ = true;
  for (const Range& range : ranges) {
    if (mprotect(range.begin, static_cast<std::size_t>(range.end - range.begin), PROT_NONE) != 0) failed_ = true;
  }
}

void Observer::add(Block& block) {
  if (!active() || !watched(block) || !block.seen.empty()) return;
  block.seen.assign(block.pages, 0);
  if (mprotect(block.first_page, block.pages * page_bytes(), PROT_NONE) != 0) failed_ = true;
}

std::vector<md_touch> Observer::end(std::string& problem) {
  std::vector<md_touch> touches;
  for (const auto& block : memory_.blocks()) {
    if (block->seen.empty()) continue;
    std::vector<Range> ranges;
    add_ranges(*block, ranges);
    for (const Range& range : ranges) {
      if (block->freed) continue;
      if (mprotect(range.begin, static_cast<std::size_t>(range.end - range.begin), PROT_READ | PROT_WRITE) != 0)
        failed_ = true;
    }
  }
  active_ = false;
  for (const auto& block : memory_.blocks()) {
    if (block->seen.empty()) continue;
    add_touches(*block, kSeenRead, MD_TOUCH_READ, touches);
    add_touches(*block, kSeenWrite, MD_TOUCH_WRITE, touches);
    block->seen.clear();
  }
  problem = failed_ ? "observation failed: the system refused to change the protection of a page" : "";
  return touches;
}

template <class Action>
void Observer::unseen(Block& block, Action action) {
  const bool hidden = active() && !block.seen.empty();
  const std::size_t all = block.pages * page_bytes();
  if (hidden && mprotect(block.first_page, all, PROT_READ | PROT_WRITE) != 0) failed_ = true;
  action();
  if (!hidden) return;
  if (mprotect(block.first_page, all, PROT_NONE) != 0) failed_ = true;
}

void Observer::begin_use_unseen(Block& block, std::int64_t bytes, const std::string& label) {
  unseen(block, [&] { memory_.begin_use(block, bytes, label); });
}

void Observer::end_use_unseen(Block& block) {
  unseen(block, [&] { memory_.end_use(block); });
}

bool Observer::on_fault(const void* address, bool is_write) {
  if (!active()) return false;
  auto* byte = static_cast<std::byte*>(const_cast<void*>(address));
  auto* block = const_cast<Block*>(memory_.nearest(address));
  if (block == nullptr || block->seen.empty() || byte < block->first_page || byte >= block->pages_end()) return false;
  const auto page = static_cast<std::size_t>(byte - block->first_page) / page_bytes();
  while (busy_.test_and_set(std::memory_order_acquire)) {
  }
  std::uint8_t& state = block->seen[page];
  state |= is_write ? kSeenWrite : kSeenRead;
  const int access = (state & kSeenWrite) != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
  const bool opened = mprotect(block->first_page + page * page_bytes(), page_bytes(), access) == 0;
  busy_.clear(std::memory_order_release);
  if (!opened) failed_ = true;
  return opened;
}

}  // namespace moediff::hiphost
