// A wait is redundant when the next item of its stream comes after all recorded work without it too. Waits are tried
// from the last to the first, and one found redundant is left out from then on: all those named can go at once.
#include <algorithm>
#include <set>

#include "harness/order/rules.h"

namespace moediff {
namespace {

using Kind = TraceItem::Kind;

/// The next item of the stream that an edge matters to: waits only pass it on.
int next_on_stream(const std::vector<TraceItem>& items, int item) {
  for (std::size_t i = static_cast<std::size_t>(item) + 1; i < items.size(); ++i) {
    if (items[i].stream == items[item].stream && items[i].kind != Kind::wait) return static_cast<int>(i);
  }
  return -1;
}

bool is_redundant(const Scene& scene, int wait, std::set<int> without) {
  const int record = record_of(scene.items, wait), next = next_on_stream(scene.items, wait);
  if (record < 0 || next < 0) return false;
  without.insert(wait);
  const Clocks clocks(scene.items, static_cast<int>(scene.program.steps.size()), without);
  for (int i = 0; i < record; ++i) {
    // Records and waits are no work: only what they stand behind matters.
    const bool is_work = scene.items[i].kind != Kind::record && scene.items[i].kind != Kind::wait;
    if (is_work && scene.clocks.item_before(i, record) && !clocks.item_before(i, next)) return false;
  }
  return true;
}

}  // namespace

std::vector<int> find_redundant_waits(const Scene& scene) {
  std::vector<int> redundant;
  std::set<int> without;
  for (int i = static_cast<int>(scene.items.size()) - 1; i >= 0; --i) {
    const TraceItem& item = scene.items[i];
    if (item.kind != Kind::wait || item.step < 0) continue;
    if (scene.program.steps[item.step].kind != StepKind::wait) continue;  // a provider's own
    if (!is_redundant(scene, i, without)) continue;
    without.insert(i);
    redundant.push_back(item.step);
  }
  std::reverse(redundant.begin(), redundant.end());
  return redundant;
}

}  // namespace moediff
