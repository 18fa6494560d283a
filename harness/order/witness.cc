// Witness schedules: complete orders of the trace in which a hazard's victim meets the wrong version.
//
// An order is built from goals: "these items, in this sequence". Each goal is preceded by exactly what must come before
// it, in issue order; what is left follows in issue order. So every order respects every edge, and comes as near to the
// wanted sequence as the edges allow: of a step with several launches some may be tied to the other side.
#include <algorithm>

#include "harness/order/clocks.h"
#include "harness/order/order.h"
#include "harness/order/scene.h"

namespace moediff {
namespace {

using Items = std::vector<int>;

constexpr std::size_t kMaxWitnesses = 6;

class OrderBuilder {
 public:
  OrderBuilder(const Clocks& clocks, int items) : clocks_(clocks), done_(items, false) {}

  /// Appends what is missing of `item` and its predecessors.
  void reach(int item) {
    for (int i = 0; i < item; ++i) {
      if (!done_[i] && clocks_.item_before(i, item)) append(i);
    }
    if (!done_[item]) append(item);
  }
  Items finish() {
    for (int i = 0; i < static_cast<int>(done_.size()); ++i) {
      if (!done_[i]) append(i);
    }
    return std::move(order_);
  }

 private:
  void append(int item) {
    done_[item] = true;
    order_.push_back(item);
  }

  const Clocks& clocks_;
  std::vector<bool> done_;
  Items order_;
};

/// The order that meets the goals in sequence. `ready`: items whose predecessors are to be done first, so that they
/// follow the goals at once.
Items order_with(const Clocks& clocks, int items, const Items& goals, const Items& ready = {}) {
  OrderBuilder builder(clocks, items);
  for (const int item : ready) {
    for (int i = 0; i < item; ++i) {
      const bool is_goal = std::find(goals.begin(), goals.end(), i) != goals.end();
      const bool after_goal =
          std::any_of(goals.begin(), goals.end(), [&](int goal) { return clocks.item_before(goal, i); });
      if (!is_goal && !after_goal && clocks.item_before(i, item)) builder.reach(i);
    }
  }
  for (const int goal : goals) builder.reach(goal);
  return builder.finish();
}

Items joined(std::initializer_list<Items> parts) {
  Items all;
  for (const Items& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Items first(const Items& items, std::size_t count) {
  return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count)};
}
Items rest(const Items& items, std::size_t count) {
  return {items.begin() + static_cast<std::ptrdiff_t>(count), items.end()};
}

struct Wanted {
  Items goals;
  Items ready;
};

/// All of b inside a: one order for each of a's launches but the last.
void add_interleavings(const Items& a, const Items& b, std::vector<Wanted>& wanted) {
  for (std::size_t cut = 1; cut < a.size(); ++cut) wanted.push_back({joined({first(a, cut), b, rest(a, cut)}), {}});
}

std::vector<Wanted> wanted_for_workspace(const Items& a, const Items& b) {
  std::vector<Wanted> wanted;
  add_interleavings(a, b, wanted);
  add_interleavings(b, a, wanted);
  if (a.size() > 1 && b.size() > 1) {
    wanted.push_back({joined({first(a, 1), first(b, 1), rest(a, 1), rest(b, 1)}), {}});
    wanted.push_back({joined({first(b, 1), first(a, 1), rest(b, 1), rest(a, 1)}), {}});
  }
  return wanted;
}

/// `late` is what the victim should have waited for, `victim` runs before it.
std::vector<Wanted> wanted_for_early_victim(const Items& victim, const Items& late) {
  std::vector<Wanted> wanted{{joined({victim, late}), {}}};
  add_interleavings(late, victim, wanted);
  return wanted;
}

/// `writer` runs between the producer of the victim's version and the victim.
std::vector<Wanted> wanted_for_overwriting(const Items& producer, const Items& writer, const Items& victim) {
  std::vector<Wanted> wanted;
  wanted.push_back({joined({producer, writer, victim}), {}});  // the writer as early as can be
  wanted.push_back({joined({writer, victim}), victim});        // all that the victim needs, then the writer
  for (std::size_t cut = 1; cut < victim.size(); ++cut) {      // in the middle of the victim
    wanted.push_back({joined({first(victim, cut), writer, rest(victim, cut)}), {}});
  }
  for (std::size_t cut = 1; cut < writer.size(); ++cut) {  // half overwritten
    wanted.push_back({joined({first(writer, cut), victim, rest(writer, cut)}), victim});
  }
  return wanted;
}

/// Items of a step that have not been forced before or after the others matter only; empty for "no step".
Items items_of(const Clocks& clocks, int step) { return step < 0 ? Items{} : clocks.items_of(step); }

std::vector<Wanted> wanted_for(const Program& program, const Clocks& clocks, const Hazard& hazard) {
  const Items writer = items_of(clocks, hazard.writer), reader = items_of(clocks, hazard.reader);
  const int meant = hazard.value < 0 ? -1 : producer(program, hazard.value);
  // The victim's own output has no producer before it.
  const Items made = items_of(clocks, meant == hazard.reader ? -1 : meant);
  if (hazard.kind == Cause::shared_workspace) return wanted_for_workspace(writer, reader);
  if (hazard.kind == Cause::lifetime) {
    const bool late = hazard.edge_from == hazard.reader;
    const Items border = items_of(clocks, late ? hazard.edge_to : hazard.edge_from);
    if (late) return wanted_for_overwriting(made, writer.empty() ? border : writer, reader);
    return wanted_for_early_victim(reader, border);
  }
  if (meant == hazard.writer) return wanted_for_early_victim(reader, writer);
  std::vector<Wanted> wanted = wanted_for_overwriting(made, writer, reader);
  // Two writers: the one that should come first comes last.
  if (meant == hazard.reader) wanted.insert(wanted.begin(), {joined({reader, writer}), {}});
  return wanted;
}

}  // namespace

std::vector<std::vector<int>> witness_orders(const Program& program, const Run& traced, const Hazard& hazard) {
  std::vector<Items> orders;
  if (hazard.edge_from < 0 || hazard.edge_to < 0) return orders;  // ordered, wrongly: any schedule shows it
  const Clocks clocks(traced.trace, static_cast<int>(program.steps.size()));
  const int items = static_cast<int>(traced.trace.size());
  for (const Wanted& wanted : wanted_for(program, clocks, hazard)) {
    if (wanted.goals.empty() || orders.size() == kMaxWitnesses) continue;
    Items order = order_with(clocks, items, wanted.goals, wanted.ready);
    const bool known = std::find(orders.begin(), orders.end(), order) != orders.end();
    if (!known) orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace moediff
