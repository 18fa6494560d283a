// mmap'd blocks between guard regions; canaries; lookup by address.
#include "kernels/hiphost/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace moediff::hiphost {
namespace {

// Address space is free: wide guards catch an index that is off by a whole row or expert, too.
constexpr std::size_t kGuardBytes = 256 << 10;
constexpr std::size_t kAlignment = 64;
constexpr int kPoison = 0xFF;
constexpr std::byte kCanary{0xA5};
constexpr std::string_view kSeparator = "; ";

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

std::string damage_text(const std::byte* begin, const std::byte* end, const char* where, const std::string& label) {
  const auto bytes = std::count_if(begin, end, [](std::byte b) { return b != kCanary; });
  if (bytes == 0) return {};
  return fmt::format("{} byte{} {} {}{}", bytes, bytes == 1 ? "" : "s", where, label, kSeparator);
}

/// Damage round the block's present use, every hit followed by a separator.
std::string damage_text(const Block& block) {
  if (block.used_bytes < 0) return {};
  return damage_text(block.first_page, block.address, "before", block.used_label) +
         damage_text(block.address + block.used_bytes, block.pages_end(), "past", block.used_label);
}

void lay_canaries(Block& block) {
  std::fill(block.first_page, block.address, kCanary);
  std::fill(block.address + block.used_bytes, block.pages_end(), kCanary);
}

/// Distance of an address to the memory of a block with its guards; 0 inside.
std::size_t distance(const Block& block, const std::byte* address) {
  const std::byte* begin = block.map != nullptr ? block.map : block.first_page;
  const std::byte* end = block.map != nullptr ? block.map + block.map_bytes : block.pages_end();
  if (address < begin) return static_cast<std::size_t>(begin - address);
  return address < end ? 0 : static_cast<std::size_t>(address - end) + 1;
}

}  // namespace

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::byte* Block::pages_end() const { return first_page + pages * page_bytes(); }

bool Block::contains(const void* pointer) const {
  const auto* byte = static_cast<const std::byte*>(pointer);
  return byte >= address && (byte < end() || (bytes == 0 && byte == address));
}

Memory::Memory() { page_bytes(); }  // before any signal handler asks

Memory::~Memory() {
  for (const auto& block : blocks_) {
    if (block->map != nullptr) munmap(block->map, block->map_bytes);
  }
}

Block* Memory::create(std::int64_t bytes, std::int64_t capacity, md_memory_kind kind, std::string label,
                      bool provider_owned) {
  const std::size_t inner = round_up(std::max<std::size_t>(static_cast<std::size_t>(capacity), 1), page_bytes());
  const std::size_t total = inner + 2 * kGuardBytes;
  void* map = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  auto block = std::make_unique<Block>();
  block->label = std::move(label);
  block->bytes = block->extent = bytes;
  block->kind = kind;
  block->provider_owned = provider_owned;
  block->map = static_cast<std::byte*>(map);
  block->map_bytes = total;
  block->first_page = block->map + kGuardBytes;
  block->pages = inner / page_bytes();
  block->address = block->pages_end() - round_up(static_cast<std::size_t>(capacity), kAlignment);
  if (mprotect(block->first_page, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(map, total);
    return nullptr;
  }
  begin_use(*block, bytes, block->label);
  Block* made = block.get();
  insert(std::move(block));
  return made;
}

Block& Memory::adopt(std::byte* first_page, std::size_t pages, std::byte* hole, std::size_t hole_pages,
                     std::string label) {
  auto block = std::make_unique<Block>();
  block->label = std::move(label);
  block->provider_owned = true;
  block->address = block->first_page = first_page;
  block->pages = pages;
  block->bytes = block->extent = block->used_bytes = static_cast<std::int64_t>(pages * page_bytes());
  block->used_label = block->label;
  block->hole = hole;
  block->hole_pages = hole_pages;
  Block& made = *block;
  insert(std::move(block));
  return made;
}

void Memory::free(Block& block) {
  mprotect(block.first_page, block.pages * page_bytes(), PROT_NONE);
  madvise(block.first_page, block.pages * page_bytes(), MADV_DONTNEED);
  block.freed = true;
}

void Memory::reset() {
  std::vector<std::unique_ptr<Block>> kept;
  for (auto& block : blocks_) {
    if (block->provider_owned && !block->pooled && !block->freed) {
      block->number = static_cast<int>(kept.size());
      kept.push_back(std::move(block));
    } else {
      munmap(block->map, block->map_bytes);
    }
  }
  blocks_ = std::move(kept);
  damage_.clear();
  sort_by_address();
}

void Memory::begin_use(Block& block, std::int64_t bytes, const std::string& label) {
  block.used_bytes = bytes;
  block.used_label = label;
  lay_canaries(block);
  std::memset(block.address, kPoison, static_cast<std::size_t>(bytes));
}

void Memory::end_use(Block& block) {
  const std::string hits = damage_text(block);
  block.used_bytes = -1;
  const std::lock_guard lock(damage_mutex_);
  damage_ += hits;
}

std::string Memory::check_red_zones() {
  std::string text = std::exchange(damage_, {});
  for (const auto& block : blocks_) {
    if (block->map == nullptr || block->freed) continue;
    const std::string hits = damage_text(*block);
    if (hits.empty()) continue;
    text += hits;
    lay_canaries(*block);
  }
  if (!text.empty()) text.resize(text.size() - kSeparator.size());
  return text;
}

void Memory::set_read_only(Block& block, bool read_only) {
  if (block.read_only == read_only) return;
  mprotect(block.first_page, block.pages * page_bytes(), read_only ? PROT_READ : PROT_READ | PROT_WRITE);
  block.read_only = read_only;
}

Block* Memory::find(const void* pointer) const {
  const auto* address = static_cast<const std::byte*>(pointer);
  auto after = std::upper_bound(by_address_.begin(), by_address_.end(), address,
                                [](const std::byte* a, const Block* block) { return a < block->address; });
  if (after == by_address_.begin()) return nullptr;
  Block* block = *std::prev(after);
  const bool inside = block->contains(address) || address == block->end();
  return inside && !block->freed ? block : nullptr;
}

const Block* Memory::nearest(const void* pointer) const {
  const auto* address = static_cast<const std::byte*>(pointer);
  const Block* best = nullptr;
  for (const Block* block : by_address_) {
    if (best == nullptr || distance(*block, address) < distance(*best, address)) best = block;
  }
  return best;
}

void Memory::insert(std::unique_ptr<Block> block) {
  block->number = static_cast<int>(blocks_.size());
  by_address_.push_back(block.get());
  blocks_.push_back(std::move(block));
  std::sort(by_address_.begin(), by_address_.end(),
            [](const Block* a, const Block* b) { return a->address < b->address; });
}

void Memory::sort_by_address() {
  by_address_.clear();
  for (const auto& block : blocks_) by_address_.push_back(block.get());
  std::sort(by_address_.begin(), by_address_.end(),
            [](const Block* a, const Block* b) { return a->address < b->address; });
}

}  // namespace moediff::hiphost
