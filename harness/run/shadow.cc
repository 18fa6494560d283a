#include "harness/run/shadow.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace moediff {
namespace {

constexpr std::byte kYes{1}, kNo{0};

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

void copy_range(std::byte* to, const std::byte* from, ByteRange range) {
  std::memcpy(to + range.first, from + range.first, range.second - range.first);
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
      complement_(size_),
      changed_(size_),
      by_host_(size_) {
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
  if (begin >= end || std::memcmp(memory_ + begin, start + begin, end - begin) == 0) return false;
  marked_.push_back(range);
  for (std::int64_t i = begin; i < end; ++i) changed_[i] |= memory_[i] != start[i] ? kYes : kNo;
  return true;
}

void ShadowBlock::note_run(const std::vector<ByteRange>& touched) {
  touched_ = touched;
  for (const ByteRange& range : touched_) {
    mark(range, before_.data());
    copy_range(after_.data(), memory_, range);
    if (provider_owned_) continue;
    std::fill(&complement_[range.first], &complement_[range.second], std::byte{0xFF});
    undeclared_ += range.second - range.first;
  }
}

void ShadowBlock::declare_read(ByteRange range) {
  for (std::int64_t i = range.first; i < range.second; ++i) {
    if (complement_[i] == std::byte{0}) continue;
    complement_[i] = std::byte{0};
    --undeclared_;
  }
}

void ShadowBlock::begin_repetition() {
  if (!provider_owned_) return;
  for (const ByteRange& range : touched_) copy_range(start_.data(), memory_, range);
}

/// The device gets what it saw in the first run; start_ holds the memory before the issue.
void ShadowBlock::rewind_owned() {
  for (const ByteRange& range : touched_) {
    for (std::int64_t i = range.first; i < range.second; ++i) {
      by_host_[i] = start_[i] != memory_[i] ? kYes : kNo;
      if (is_ours(i)) memory_[i] = before_[i];
    }
    copy_range(start_.data(), memory_, range);
  }
}

void ShadowBlock::rewind(bool complement) {
  if (provider_owned_) return rewind_owned();
  const std::byte keep = complement ? std::byte{0xFF} : std::byte{0};
  for (const ByteRange& range : touched_) {
    for (std::int64_t i = range.first; i < range.second; ++i) start_[i] = before_[i] ^ (complement_[i] & keep);
    copy_range(memory_, start_.data(), range);
  }
}

void ShadowBlock::note_repetition() {
  for (const ByteRange& range : touched_) mark(range, start_.data());
  if (provider_owned_) return;
  for (const ByteRange& gap : gaps(touched_, size_)) {
    // The first run did not touch it: what it left there is what was there before.
    if (mark(gap, before_.data())) copy_range(after_.data(), before_.data(), gap);
  }
}

bool ShadowBlock::differs(ByteRange range) const {
  for (std::int64_t i = range.first; i < range.second; ++i) {
    if (changed_[i] != kNo && memory_[i] != after_[i]) return true;
  }
  return false;
}

void ShadowBlock::restore() {
  if (!provider_owned_) {
    for (const ByteRange& range : touched_) copy_range(memory_, after_.data(), range);
  }
  for (const auto& [begin, end] : marked_) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (is_ours(i)) memory_[i] = after_[i];
    }
  }
}

std::vector<ByteRange> ShadowBlock::changed() const {
  std::vector<ByteRange> runs;
  if (marked_.empty()) return runs;
  const std::byte *begin = changed_.data(), *end = begin + size_, *at = begin;
  while ((at = std::find(at, end, kYes)) != end) {
    const std::byte* stop = std::find(at, end, kNo);
    runs.emplace_back(at - begin, stop - begin);
    at = stop;
  }
  return runs;
}

void ShadowBlock::commit() {
  for (const ByteRange& range : touched_) {
    // Provider-owned bytes may have gone on since: its host code was called again.
    copy_range(before_.data(), provider_owned_ ? memory_ : after_.data(), range);
    std::fill(&complement_[range.first], &complement_[range.second], std::byte{0});
  }
  for (const auto& [begin, end] : marked_) std::fill(&changed_[begin], &changed_[end], kNo);
  marked_.clear();
  touched_.clear();
  undeclared_ = 0;
}

}  // namespace moediff
