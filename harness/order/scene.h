// What the rules look at: the Program, the clocks of its trace and the accesses of its steps, indexed.
#pragma once

#include <string>
#include <vector>

#include "harness/order/accesses.h"
#include "harness/order/clocks.h"
#include "harness/order/hazard.h"

namespace moediff {

struct Scene {
  const Program& program;
  const Run& traced;
  const Run* observed;           ///< may be null
  std::vector<TraceItem> items;  ///< the trace, with a stand-in for every step that launched nothing
  Clocks clocks;
  std::vector<Access> accesses;             ///< of issued steps
  std::vector<std::vector<int>> by_buffer;  ///< indices into accesses
  std::vector<int> producers;               ///< by value: the step that writes it, -1 for initial values
};

Scene make_scene(const Program& program, const Run& traced, const Run* observed);

/// Bytes in which `operand` shows `value`, relative to the operand's buffer.
Region meant_bytes(const Program& program, const Operand& operand, int value);
/// The value whose bytes overlap `region` and that was issued last before `step`; -1 when there is none.
int value_before(const Scene& scene, int buffer, const Region& region, int step);
/// May a write of `writer` come between the producer of `value` and `reader`, on some schedule?
bool may_come_between(const Scene& scene, int value, int writer, int reader);

/// Says that `to` must wait for `from`, when no edge orders them; leaves the hazard alone when one does.
void name_missing_edge(const Scene& scene, Hazard& hazard, int from, int to);
/// Adds a hazard, or widens the region of the same hazard found before (same kind, writer, reader, value, memory).
void report(std::vector<Hazard>& hazards, const Hazard& hazard);

}  // namespace moediff
