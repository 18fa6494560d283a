// The sequential policies. See threads.cc for the concurrent one.
#include "kernels/hiphost/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace moediff::hiphost {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// An undone item that `seq` needs, or -1.
int missing(const WorkLog& log, int seq) {
  const std::vector<int>& needs = log.work(seq).needs;
  const auto found = std::find_if(needs.begin(), needs.end(), [&](int need) { return !log.work(need).done; });
  return found == needs.end() ? -1 : *found;
}

std::string run_one(WorkLog& log, int seq, const RunItem& run) {
  std::string error = run(seq);
  if (error.empty()) log.work(seq).done = true;
  return error;
}

}  // namespace

bool Scheduler::configure(int policy, std::uint64_t seed, std::vector<int> order) {
  if (policy < MD_SCHEDULE_SUBMISSION || policy > MD_SCHEDULE_THREADS) return false;
  policy_ = policy;
  seed_ = random_ = seed;
  order_ = std::move(order);
  return true;
}

std::string Scheduler::drain(WorkLog& log, const std::vector<int>& wanted, const RunItem& run, int limit) {
  if (policy_ == MD_SCHEDULE_GIVEN) return drain_given(log, wanted, run, limit);
  if (policy_ == MD_SCHEDULE_THREADS && limit >= static_cast<int>(wanted.size()))
    return drain_by_threads(log, wanted, run);
  return drain_by_choice(log, wanted, run, limit);
}

/// `ready`: one item a stream, in the order of the streams' numbers.
std::size_t Scheduler::choose(const std::vector<int>& ready) {
  switch (policy_) {
    case MD_SCHEDULE_REVERSE:
      return ready.size() - 1;
    case MD_SCHEDULE_RANDOM:
      return splitmix64(random_) % ready.size();
    default:
      return static_cast<std::size_t>(std::min_element(ready.begin(), ready.end()) - ready.begin());
  }
}

std::string Scheduler::drain_by_choice(WorkLog& log, const std::vector<int>& wanted, const RunItem& run, int limit) {
  std::map<int, std::deque<int>> queues;  // by stream number
  for (const int seq : wanted) queues[log.item(seq).stream].push_back(seq);
  for (int count = 0; count < std::min(limit, static_cast<int>(wanted.size())); ++count) {
    std::vector<int> ready;
    for (const auto& [stream, queue] : queues) {
      if (!queue.empty() && missing(log, queue.front()) < 0) ready.push_back(queue.front());
    }
    // Needs point backwards in issue order, so the oldest undone item is always ready.
    const int seq = ready[choose(ready)];
    queues[log.item(seq).stream].pop_front();
    if (std::string error = run_one(log, seq, run); !error.empty()) return error;
  }
  return {};
}

std::string Scheduler::drain_given(WorkLog& log, const std::vector<int>& wanted, const RunItem& run, int limit) const {
  std::vector<int> sequence;
  std::size_t listed = 0;  // length of the sequence up to the last wanted item that is listed
  for (const int seq : order_) {
    if (seq < 0 || (seq < log.size() && log.work(seq).done)) continue;
    sequence.push_back(seq);
    if (std::binary_search(wanted.begin(), wanted.end(), seq)) listed = sequence.size();
  }
  sequence.resize(listed);
  for (const int seq : wanted) {
    if (std::find(sequence.begin(), sequence.end(), seq) == sequence.end()) sequence.push_back(seq);
  }
  for (const int seq : sequence) {
    if (limit-- == 0) break;
    if (seq >= log.size())
      return fmt::format("the given order is impossible: item {} was not issued yet when the host had to wait", seq);
    if (log.work(seq).done) return fmt::format("the given order names {} twice", log.describe(seq));
    if (const int need = missing(log, seq); need >= 0) {
      return fmt::format("the given order is impossible: {} before {}, for which it waits", log.describe(seq),
                         log.describe(need));
    }
    if (std::string error = run_one(log, seq, run); !error.empty()) return error;
  }
  return {};
}

}  // namespace moediff::hiphost
