// Host copies of device memory that tell, byte by byte, what a step changed, and that perturb and restore memory for
// the value-dependence probe. All work is restricted to the pages that the step touched, so that it stays cheap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/abi/moediff_abi.h"

namespace moediff {

/// Bytes [first, second) of a block.
using ByteRange = std::pair<std::int64_t, std::int64_t>;

/// Zero bytes that cost nothing until they are written: most of a block is never touched.
class LazyBytes {
 public:
  explicit LazyBytes(std::int64_t size);
  std::byte* data() const { return bytes_.get(); }
  std::byte& operator[](std::int64_t i) const { return bytes_[i]; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte[], Free> bytes_;
};

/// The memory of one block and its state round the step under observation: create or refresh() it before the step,
/// note_run() after it; then for each repetition begin_repetition(), issue the step, rewind() before the device begins,
/// note_repetition() when it is idle, restore(); commit() at the end.
///
/// A repetition starts from the state before the step, complemented where the step declares no read, and is compared
/// with that start: a byte that the step writes is seen even where it writes what was there, since no byte equals its
/// complement (of outputs all bits but the lowest are flipped, to tell them from copies of undeclared bytes). Memory
/// that a provider owns is never complemented (it may hold the provider's pointers); only bytes that the device changed
/// are rewound and restored, never those that the provider's host code changed while the repetition was issued, and
/// only pages that the first run touched are looked at.
class ShadowBlock {
 public:
  ShadowBlock(int block, const md_block& memory);

  int block() const { return block_; }
  bool is_of(const md_block& memory) const;
  bool provider_owned() const { return provider_owned_; }
  std::int64_t size() const { return size_; }
  bool holds(const std::byte* address) const { return address >= memory_ && address < memory_ + size_; }
  std::int64_t offset_of(const std::byte* address) const { return address - memory_; }

  /// The memory was changed by somebody else than an observed step.
  void refresh(ByteRange range);
  void refresh() { refresh({0, size_}); }

  /// After the step: notes what it changed. `touched`: every page it read or wrote; ascending and disjoint.
  void note_run(const std::vector<ByteRange>& touched);
  /// The step declares that it reads these bytes: they are not complemented.
  void declare_read(ByteRange range);
  /// The step declares that it writes these bytes, and not as scratch.
  void declare_output(ByteRange range);
  /// Can a repetition perturb this block?
  bool has_undeclared() const { return undeclared_ > 0; }

  void begin_repetition();
  /// Memory as it was before the step, complemented where undeclared when `complement`.
  void rewind(bool complement);
  /// After a repetition: adds what it changed.
  void note_repetition();
  /// Did the last repetition write another value than the first run, in [range)? Bytes that neither wrote do not count.
  bool differs(ByteRange range) const;
  /// Memory as the first run left it.
  void restore();
  /// Runs of changed bytes, ascending.
  std::vector<ByteRange> changed() const;
  /// The step is done: its result is the state before the next one.
  void commit();

 private:
  bool mark(ByteRange range, const std::byte* start);
  void mark_repetition(ByteRange range);
  void rewind_owned();
  void restore_marked(ByteRange range);

  int block_;
  std::byte* memory_;
  std::int64_t size_;
  bool provider_owned_;
  LazyBytes before_;  ///< the state before the step
  LazyBytes after_;   ///< the state after its first run; where touched_ or changed
  LazyBytes start_;   ///< provider-owned: what the current repetition started from; where touched_
  LazyBytes flags_;   ///< of each byte: changed, undeclared, output, by host code
  std::vector<ByteRange> touched_;
  std::vector<ByteRange> outside_;  ///< parts that only a repetition changed
  std::vector<ByteRange> outputs_;
  std::byte keep_{0};  ///< 0xFF: the current repetition started from the complement
  std::int64_t undeclared_ = 0;
  bool any_changed_ = false;
};

}  // namespace moediff
