// Device memory: blocks in pages of their own between guard regions, with red zones, and the table to find them again.
//
//   | guard | red zone | the block's bytes | red zone (< 64 bytes, more in pooled blocks) | guard |
//           ^ first page              end abuts, up to alignment, on ^
//
// Blocks are numbered as they are made, and stay in the table until reset: a freed block keeps its addresses without
// access, so that a use after free is a fault with the right name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/abi/moediff_abi.h"

namespace moediff::hiphost {

struct Block {
  int number = -1;
  std::string label;  ///< as issued last, like kind and bytes
  std::byte* address = nullptr;
  std::int64_t bytes = 0;
  std::int64_t extent = 0;  ///< the most it ever held: above `bytes` for pooled blocks that were used again
  md_memory_kind kind = MD_MEMORY_VALUE;
  bool provider_owned = false;
  // What was executed last: pooled blocks are issued several times ahead.
  std::string used_label;
  std::int64_t used_bytes = 0;  ///< -1: its last use has ended
  bool pooled = false;
  bool freed = false;
  bool read_only = false;
  std::byte* map = nullptr;  ///< with guards; nullptr: static data of a library
  std::size_t map_bytes = 0;
  std::byte* first_page = nullptr;
  std::size_t pages = 0;
  std::byte* hole = nullptr;  ///< static data: pages that are never protected (RELRO)
  std::size_t hole_pages = 0;
  std::vector<std::uint8_t> seen;  ///< by page, while observed (observe.h)

  std::byte* end() const { return address + bytes; }
  std::byte* pages_end() const;
  bool contains(const void* pointer) const;
};

std::size_t page_bytes();

class Memory {
 public:
  Memory();
  ~Memory();

  /// Poisoned with 0xFF, canaries laid. `capacity` >= bytes: what a pooled block may hold later.
  /// Returns nullptr when the system has no memory.
  Block* create(std::int64_t bytes, std::int64_t capacity, md_memory_kind kind, std::string label, bool provider_owned);
  /// Adds memory that somebody else owns: [first_page, first_page + pages) without the hole.
  Block& adopt(std::byte* first_page, std::size_t pages, std::byte* hole, std::size_t hole_pages, std::string label);
  /// No access any more; the number and the addresses stay taken.
  void free(Block& block);
  /// Unmaps all but what providers own outside the pool; that is numbered from 0 again.
  void reset();

  /// Fills with 0xFF and lays the canaries for a use of `bytes` bytes.
  void begin_use(Block& block, std::int64_t bytes, const std::string& label);
  /// Keeps damage round the use for check_red_zones: the next use lays new canaries.
  void end_use(Block& block);
  /// "4 bytes past gemm1_out; 1 byte before routed": each damage once, the canary is laid again.
  std::string check_red_zones();
  void set_read_only(Block& block, bool read_only);

  /// The live block that holds the byte, or ends or starts at it. nullptr: not device memory.
  Block* find(const void* pointer) const;
  /// Async-signal safe: the block in whose mapping, guards included, the address lies; else the nearest, else nullptr.
  const Block* nearest(const void* pointer) const;
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

 private:
  void insert(std::unique_ptr<Block> block);
  void sort_by_address();

  std::vector<std::unique_ptr<Block>> blocks_;  ///< by number
  std::vector<Block*> by_address_;              ///< changed only while nothing is executed
  std::mutex damage_mutex_;
  std::string damage_;
};

}  // namespace moediff::hiphost
