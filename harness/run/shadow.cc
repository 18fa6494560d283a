#include "harness/run/shadow.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace moediff {
namespace {

// Flags of a byte. The loops below are written so that the compiler makes vector code of them: they run over every page
// that a step touched, several times a step.
constexpr std::byte kChanged{1}, kUndeclared{2}, kByHost{4}, kOutput{8};

/// The bits that a repetition flips: none of a declared read, all of what is undeclared, all but one of an output. If
/// outputs were flipped like the rest, a step that copies undeclared poison over poison would seem to write nothing.
std::byte complement_mask(std::byte flags) {
  const std::byte bits = (flags & kOutput) != std::byte{0} ? std::byte{0xFE} : std::byte{0xFF};
  return (flags & kUndeclared) != std::byte{0} ? bits : std::byte{0};
}

bool is_ours(std::byte flags) { return (flags & (kChanged | kByHost)) == kChanged; }

/// What lies between ascending disjoint ranges, up to `size`.
std::vector<ByteRange> gaps(const std::vector<ByteRange>& ranges, std::int64_t size) {
  std::vector<ByteRange> between;
  std::int64_t begin = 0;
  for (const auto& [first, last] : ranges) {
    if (first > begin) between.emplace_back(begin, first);
    begin = last;
  }
  if (begin < size) between.emplace_back(begin, size);
  return between;
}

// Loops, not memcpy and memcmp: between a library's variables lie a sanitizer's red zones, which its own memcpy would
// report. (This file is compiled without sanitizers for the same reason.)
void copy_range(std::byte* to, const std::byte* from, ByteRange range) {
  for (std::int64_t i = range.first; i < range.second; ++i) to[i] = from[i];
}

bool equal_range(const std::byte* a, const std::byte* b, ByteRange range) {
  std::byte differing{0};
  for (std::int64_t i = range.first; i < range.second; ++i) differing |= a[i] ^ b[i];
  return differing == std::byte{0};
}

}  // namespace

LazyBytes::LazyBytes(std::int64_t size)
    : bytes_(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(size, 1), 1))) {
  if (bytes_ == nullptr) throw std::bad_alloc();
}

void LazyBytes::Free::operator()(std::byte* bytes) const { std::free(bytes); }

ShadowBlock::ShadowBlock(int block, const md_block& memory)
    : block_(block),
      memory_(static_cast<std::byte*>(memory.address)),
      size_(memory.bytes),
      provider_owned_(memory.provider_owned != 0),
      before_(size_),
      after_(size_),
      start_(size_),
      flags_(size_) {
  refresh();
}

bool ShadowBlock::is_of(const md_block& memory) const {
  return memory.address == memory_ && memory.bytes == size_ && (memory.provider_owned != 0) == provider_owned_;
}

void ShadowBlock::refresh(ByteRange range) {
  if (range.first < range.second) copy_range(before_.data(), memory_, range);
}

/// Adds the bytes that differ from `start` to the changed ones. False: there are none.
bool ShadowBlock::mark(ByteRange range, const std::byte* start) {
  const auto [begin, end] = range;
  if (equal_range(memory_, start, range)) return false;
  any_changed_ = true;
  const std::byte* now = memory_;
  std::byte* flags = flags_.data();
  for (std::int64_t i = begin; i < end; ++i) flags[i] |= now[i] != start[i] ? kChanged : std::byte{0};
  return true;
}

/// The same against the start of a repetition: before_, complemented where undeclared.
void ShadowBlock::mark_repetition(ByteRange range) {
  const std::byte keep = keep_, *now = memory_, *before = before_.data();
  std::byte *flags = flags_.data(), any{0};
  for (std::int64_t i = range.first; i < range.second; ++i) {
    const std::byte start = before[i] ^ (complement_mask(flags[i]) & keep);
    flags[i] |= now[i] != start ? kChanged : std::byte{0};
    any |= flags[i];
  }
  any_changed_ = any_changed_ || (any & kChanged) != std::byte{0};
}

void ShadowBlock::note_run(const std::vector<ByteRange>& touched) {
  touched_ = touched;
  for (const ByteRange& range : touched_) {
    mark(range, before_.data());
    copy_range(after_.data(), memory_, range);
    if (provider_owned_) continue;
    std::byte* flags = flags_.data();
    for (std::int64_t i = range.first; i < range.second; ++i) flags[i] |= kUndeclared;
    undeclared_ += range.second - range.first;
  }
}

void ShadowBlock::declare_read(ByteRange range) {
  std::byte* flags = flags_.data();
  std::int64_t declared = 0;
  for (std::int64_t i = range.first; i < range.second; ++i) {
    declared += (flags[i] & kUndeclared) != std::byte{0} ? 1 : 0;
    flags[i] &= ~kUndeclared;
  }
  undeclared_ -= declared;
}

void ShadowBlock::declare_output(ByteRange range) {
  std::byte* flags = flags_.data();
  for (std::int64_t i = range.first; i < range.second; ++i) flags[i] |= kOutput;
  outputs_.push_back(range);
}

void ShadowBlock::begin_repetition() {
  if (!provider_owned_) return;
  for (const ByteRange& range : touched_) copy_range(start_.data(), memory_, range);
}

/// The device gets what it saw in the first run; start_ holds the memory before the issue.
void ShadowBlock::rewind_owned() {
  for (const ByteRange& range : touched_) {
    for (std::int64_t i = range.first; i < range.second; ++i) {
      flags_[i] &= ~kByHost;
      if (start_[i] != memory_[i]) flags_[i] |= kByHost;
      if (is_ours(flags_[i])) memory_[i] = before_[i];
    }
    copy_range(start_.data(), memory_, range);
  }
}

void ShadowBlock::rewind(bool complement) {
  keep_ = complement ? std::byte{0xFF} : std::byte{0};
  if (provider_owned_) return rewind_owned();
  const std::byte keep = keep_, *before = before_.data(), *flags = flags_.data();
  std::byte* now = memory_;
  for (const ByteRange& range : touched_) {
    for (std::int64_t i = range.first; i < range.second; ++i) now[i] = before[i] ^ (complement_mask(flags[i]) & keep);
  }
}

void ShadowBlock::note_repetition() {
  if (provider_owned_) {
    for (const ByteRange& range : touched_) mark(range, start_.data());
    return;
  }
  for (const ByteRange& range : touched_) mark_repetition(range);
  for (const ByteRange& gap : gaps(touched_, size_)) {
    if (!mark(gap, before_.data())) continue;
    // The first run did not touch it: what it left there is what was there before.
    copy_range(after_.data(), before_.data(), gap);
    outside_.push_back(gap);
  }
}

bool ShadowBlock::differs(ByteRange range) const {
  const std::byte *flags = flags_.data(), *now = memory_, *after = after_.data();
  std::byte different{0};
  for (std::int64_t i = range.first; i < range.second; ++i) {
    different |= (flags[i] & kChanged) != std::byte{0} ? now[i] ^ after[i] : std::byte{0};
  }
  return different != std::byte{0};
}

void ShadowBlock::restore_marked(ByteRange range) {
  for (std::int64_t i = range.first; i < range.second; ++i) {
    if (is_ours(flags_[i])) memory_[i] = after_[i];
  }
}

void ShadowBlock::restore() {
  for (const ByteRange& range : touched_) {
    if (provider_owned_) {
      restore_marked(range);
    } else {
      copy_range(memory_, after_.data(), range);
    }
  }
  for (const ByteRange& range : outside_) restore_marked(range);
}

std::vector<ByteRange> ShadowBlock::changed() const {
  std::vector<ByteRange> runs;
  if (!any_changed_) return runs;
  const std::byte *begin = flags_.data(), *end = begin + size_, *at = begin;
  const auto is_changed = [](std::byte flags) { return (flags & kChanged) != std::byte{0}; };
  while ((at = std::find_if(at, end, is_changed)) != end) {
    const std::byte* stop = std::find_if_not(at, end, is_changed);
    runs.emplace_back(at - begin, stop - begin);
    at = stop;
  }
  return runs;
}

void ShadowBlock::commit() {
  for (const ByteRange& range : touched_) {
    // Provider-owned bytes may have gone on since: its host code was called again.
    copy_range(before_.data(), provider_owned_ ? memory_ : after_.data(), range);
    std::fill(&flags_[range.first], &flags_[range.second], std::byte{0});
  }
  for (const std::vector<ByteRange>& ranges : {outside_, outputs_}) {
    for (const ByteRange& range : ranges) std::fill(&flags_[range.first], &flags_[range.second], std::byte{0});
  }
  touched_.clear();
  outside_.clear();
  outputs_.clear();
  undeclared_ = 0;
  any_changed_ = false;
}

}  // namespace moediff
