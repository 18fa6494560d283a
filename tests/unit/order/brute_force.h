// The truth about small Programs: every interleaving of their streams is carried out on a model of memory that knows
// only which value each block holds. No clocks.
#pragma once

#include <set>
#include <utility>

#include "tests/unit/order/toy.h"

namespace moediff::test {

struct Truth {
  std::set<std::pair<int, int>> wrong_reads;   ///< (step, value): some interleaving shows the step another version
  std::set<std::pair<int, int>> either_order;  ///< pairs of steps that write one block, in either order
  std::set<int> outside_life;                  ///< steps that some interleaving lets touch a buffer that is not alive
  std::set<int> wrong_outputs;                 ///< outputs that some interleaving overwrites before the end
  long interleavings = 0;

  bool sound() const {
    return wrong_reads.empty() && either_order.empty() && outside_life.empty() && wrong_outputs.empty();
  }
};

Truth all_interleavings(const Program& program, const Run& run);

/// One item after another: may `order` happen on a device? (Streams in order, waits after their records, null stream.)
bool can_happen(const std::vector<TraceItem>& items, const std::vector<int>& order);
/// Does some reader of `order` meet another version than it means, or a buffer that is not alive?
bool shows_wrong_version(const Program& program, const Run& run, const std::vector<int>& order);

}  // namespace moediff::test
