// Happens-before of a runtime trace: which items are done before which others start, on every schedule.
//
// Edges, as in HIP and CUDA: items of one stream in issue order; a wait after the last record of its event issued
// before it; the legacy null stream (stream 0) and blocking streams after each other in both directions; everything
// issued after the host synchronised comes after what it synchronised with. All edges go forward in issue order, so one
// pass over the trace gives the closure: per item the set of its predecessors as bits (traces are short, below some
// thousand items).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "harness/run/run.h"

namespace moediff {

class Clocks {
 public:
  /// `without`: wait items whose edges are left out, to see whether others imply them.
  Clocks(const std::vector<TraceItem>& items, int steps, const std::set<int>& without = {});

  /// Item a is done before item b starts, whatever the schedule.
  bool item_before(int a, int b) const { return (row(b)[a / 64] >> (a % 64)) & 1u; }
  /// Every item of step a before every item of step b. Items: those that touch memory, else whatever the step issued.
  bool before(int step_a, int step_b) const;
  bool unordered(int step_a, int step_b) const { return !before(step_a, step_b) && !before(step_b, step_a); }
  /// Did the step issue anything?
  bool issued(int step) const { return !step_items_[step].empty(); }
  const std::vector<int>& items_of(int step) const { return step_items_[step]; }

 private:
  const std::uint64_t* row(int item) const { return &bits_[static_cast<std::size_t>(item) * words_]; }
  std::uint64_t* row(int item) { return &bits_[static_cast<std::size_t>(item) * words_]; }

  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::vector<int>> step_items_;
};

/// The record that a wait item waits for: the last one of its event issued before it, -1 when there is none.
int record_of(const std::vector<TraceItem>& items, int wait_item);

}  // namespace moediff
