// Decides in which order ready items are executed (the schedule). Items that no stream, event or null stream rule
// orders may run in any order; each policy is one choice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/hiphost/work_log.h"

namespace moediff::hiphost {

/// Runs one item; "" or an error that ends the drain. Called by several threads under the policy `threads`.
using RunItem = std::function<std::string(int seq)>;

class Scheduler {
 public:
  /// `order`: seq numbers for MD_SCHEDULE_GIVEN. False: no such policy.
  bool configure(int policy, std::uint64_t seed, std::vector<int> order);
  /// Back to the seed.
  void reset() { random_ = seed_; }

  /// Executes the wanted items (closed under needs) until done, or `limit` of them. Under `given` also those that the
  /// order puts before a wanted one. Returns "" or the error of the item that ended it.
  std::string drain(WorkLog& log, const std::vector<int>& wanted, const RunItem& run, int limit);

 private:
  std::size_t choose(const std::vector<int>& ready);
  std::string drain_by_choice(WorkLog& log, const std::vector<int>& wanted, const RunItem& run, int limit);
  std::string drain_given(WorkLog& log, const std::vector<int>& wanted, const RunItem& run, int limit) const;

  int policy_ = MD_SCHEDULE_SUBMISSION;
  std::uint64_t seed_ = 0, random_ = 0;
  std::vector<int> order_;
};

/// One thread a stream, each in its stream's order, waiting for items of others only where it must.
std::string drain_by_threads(WorkLog& log, const std::vector<int>& wanted, const RunItem& run);

}  // namespace moediff::hiphost
