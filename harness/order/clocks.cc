// One pass over the trace in issue order; the state is what the host and each stream have seen so far.
#include "harness/order/clocks.h"

#include <map>

namespace moediff {
namespace {

using Kind = TraceItem::Kind;
using Bits = std::vector<std::uint64_t>;

bool is_sync(Kind kind) { return kind == Kind::stream_sync || kind == Kind::event_sync || kind == Kind::device_sync; }

bool touches_memory(Kind kind) {
  return kind == Kind::launch || kind == Kind::copy || kind == Kind::fill || kind == Kind::host_func;
}

struct Tail {
  int item = -1;  ///< last item of the stream
  bool blocking = true;
};

/// What has been issued so far.
struct Issued {
  std::map<int, Tail> tails;   ///< by stream
  std::map<int, int> records;  ///< by event: its last record
};

/// The items that `item` directly follows, those through the host left out.
std::vector<int> direct_predecessors(const Issued& issued, const TraceItem& item, bool with_wait_edge) {
  std::vector<int> found;
  for (const auto& [stream, tail] : issued.tails) {
    const bool same = item.stream == stream && item.kind != Kind::event_sync;
    const bool null_after_blocking = item.stream == 0 && tail.blocking && item.kind != Kind::event_sync;
    const bool blocking_after_null = stream == 0 && item.blocking && !is_sync(item.kind);
    if (same || null_after_blocking || blocking_after_null || item.kind == Kind::device_sync)
      found.push_back(tail.item);
  }
  const bool uses_record = (item.kind == Kind::wait && with_wait_edge) || item.kind == Kind::event_sync;
  const auto record = issued.records.find(item.event);
  if (uses_record && record != issued.records.end()) found.push_back(record->second);
  return found;
}

void note(Issued& issued, const TraceItem& item, int index) {
  if (is_sync(item.kind)) return;
  issued.tails[item.stream] = {index, item.blocking};
  if (item.kind == Kind::record) issued.records[item.event] = index;
}

void unite(std::uint64_t* into, const std::uint64_t* from, std::size_t words) {
  for (std::size_t i = 0; i < words; ++i) into[i] |= from[i];
}

void set_bit(std::uint64_t* bits, int index) { bits[index / 64] |= std::uint64_t{1} << (index % 64); }

std::vector<std::vector<int>> group_by_step(const std::vector<TraceItem>& items, int steps) {
  std::vector<std::vector<int>> work(steps), all(steps);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const int step = items[i].step;
    if (step < 0 || step >= steps) continue;
    all[step].push_back(static_cast<int>(i));
    if (touches_memory(items[i].kind)) work[step].push_back(static_cast<int>(i));
  }
  for (int step = 0; step < steps; ++step) {
    if (work[step].empty()) work[step] = all[step];
  }
  return work;
}

}  // namespace

Clocks::Clocks(const std::vector<TraceItem>& items, int steps, const std::set<int>& without)
    : words_((items.size() + 63) / 64), bits_(items.size() * words_, 0), step_items_(group_by_step(items, steps)) {
  Issued issued;
  Bits host(words_, 0);  // what the host knows to be done: everything issued from now on comes after it
  for (std::size_t i = 0; i < items.size(); ++i) {
    const int index = static_cast<int>(i);
    unite(row(index), host.data(), words_);
    for (const int earlier : direct_predecessors(issued, items[i], without.count(index) == 0)) {
      unite(row(index), row(earlier), words_);
      set_bit(row(index), earlier);
    }
    if (is_sync(items[i].kind)) {
      unite(host.data(), row(index), words_);
      set_bit(host.data(), index);
    }
    note(issued, items[i], index);
  }
}

bool Clocks::before(int step_a, int step_b) const {
  if (step_a == step_b || !issued(step_a) || !issued(step_b)) return false;
  for (const int a : step_items_[step_a]) {
    for (const int b : step_items_[step_b]) {
      if (!item_before(a, b)) return false;
    }
  }
  return true;
}

int record_of(const std::vector<TraceItem>& items, int wait_item) {
  for (int i = wait_item - 1; i >= 0; --i) {
    if (items[i].kind == Kind::record && items[i].event == items[wait_item].event) return i;
  }
  return -1;
}

}  // namespace moediff
