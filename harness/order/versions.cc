// For each reader r of a value v in bytes R, with p the step that produces v: p must come before r, and every other
// writer of R before p or after r. Two writers of the same bytes must be ordered too, or what stays is left to chance.
#include <algorithm>
#include <vector>

#include "harness/order/ranges.h"
#include "harness/order/rules.h"

namespace moediff {
namespace {

bool holds_values(const Scene& scene, int buffer) {
  return buffer >= 0 && scene.program.buffers[buffer].kind != BufferKind::workspace;
}

struct Reading {
  int step, value, buffer;
  Region region;
};

Hazard hazard_of(const Reading& reading, Cause kind, int writer, const Region& region) {
  Hazard hazard;
  hazard.kind = kind;
  hazard.writer = writer;
  hazard.reader = reading.step;
  hazard.value = reading.value;
  hazard.buffer = reading.buffer;
  hazard.region = region;
  return hazard;
}

/// Declared writes of other steps that overlap the reading.
std::vector<const Access*> writes_of(const Scene& scene, const Reading& reading) {
  std::vector<const Access*> found;
  for (const int i : scene.by_buffer[reading.buffer]) {
    const Access& access = scene.accesses[i];
    if (!access.write || !access.declared || access.step == reading.step) continue;
    if (overlap(access.region, reading.region)) found.push_back(&access);
  }
  return found;
}

/// What is read when the producer has not written: the step that wrote last before the reader, -1 for initial content;
/// nothing at all (`found` false) when nobody wrote.
struct Earlier {
  bool found = false;
  int writer = -1;
};
Earlier earlier_content(const Scene& scene, const Reading& reading) {
  Earlier earlier;
  for (std::size_t v = 0; v < scene.program.values.size(); ++v) {
    const Value& value = scene.program.values[v];
    const bool here = value.buffer == reading.buffer && overlap(value.region, reading.region);
    if (here && scene.producers[v] < 0) earlier.found = true;
  }
  for (const Access* write : writes_of(scene, reading)) {
    if (!scene.clocks.before(write->step, reading.step)) continue;
    if (!earlier.found || write->step > earlier.writer) earlier = {true, write->step};
  }
  return earlier;
}

/// Is the producer's write there in time? Reports when not; returns false when other writers no longer matter.
bool check_producer(const Scene& scene, const Reading& reading, std::vector<Hazard>& hazards) {
  const int producer = scene.producers[reading.value];
  if (producer < 0) return true;
  bool writes = false;
  for (const Access* write : writes_of(scene, reading)) writes |= write->step == producer;
  if (writes && scene.clocks.before(producer, reading.step)) return true;
  if (writes && scene.clocks.unordered(producer, reading.step)) {
    Hazard hazard = hazard_of(reading, Cause::unordered_access, producer, reading.region);
    name_missing_edge(scene, hazard, producer, reading.step);
    report(hazards, hazard);
    return true;
  }
  const Earlier earlier = earlier_content(scene, reading);
  const Cause kind = earlier.found ? Cause::stale_read : Cause::uninitialised;
  report(hazards, hazard_of(reading, kind, earlier.writer, reading.region));
  return false;
}

void check_other_writers(const Scene& scene, const Reading& reading, std::vector<Hazard>& hazards) {
  const int producer = scene.producers[reading.value];
  for (const Access* write : writes_of(scene, reading)) {
    if (!may_come_between(scene, reading.value, write->step, reading.step)) continue;
    const bool after_producer = producer < 0 || scene.clocks.before(producer, write->step);
    const bool before_reader = scene.clocks.before(write->step, reading.step);
    if (before_reader && !after_producer) continue;  // two unordered writers: reported as such
    const Cause kind = before_reader ? Cause::stale_read : Cause::unordered_access;
    Hazard hazard = hazard_of(reading, kind, write->step, common(write->region, reading.region));
    // The reader means the version from before this write, so it is the writer that must wait.
    name_missing_edge(scene, hazard, reading.step, write->step);
    report(hazards, hazard);
  }
}

void check_reader(const Scene& scene, const Access& access, std::vector<Hazard>& hazards) {
  const Operand& operand = scene.program.steps[access.step].operands[access.operand];
  for (const int value : operand.values) {
    if (scene.producers[value] == access.step) continue;
    const Reading reading{access.step, value, access.buffer, meant_bytes(scene.program, operand, value)};
    if (check_producer(scene, reading, hazards)) check_other_writers(scene, reading, hazards);
  }
}

bool is_reported(const std::vector<Hazard>& hazards, int a, int b, int buffer) {
  return std::any_of(hazards.begin(), hazards.end(), [&](const Hazard& hazard) {
    const bool pair = (hazard.writer == a && hazard.reader == b) || (hazard.writer == b && hazard.reader == a);
    return pair && hazard.kind == Cause::unordered_access && hazard.buffer == buffer;
  });
}

void check_writers(const Scene& scene, const Access& a, const Access& b, std::vector<Hazard>& hazards) {
  if (a.step >= b.step || !a.declared || !b.declared) return;
  if (!overlap(a.region, b.region) || !scene.clocks.unordered(a.step, b.step)) return;
  if (is_reported(hazards, a.step, b.step, a.buffer)) return;  // one of them reads as well: that says more
  const Operand& later = scene.program.steps[b.step].operands[b.operand];
  const Reading last{b.step, later.values.empty() ? -1 : later.values.front(), b.buffer, b.region};
  Hazard hazard = hazard_of(last, Cause::unordered_access, a.step, common(a.region, b.region));
  name_missing_edge(scene, hazard, a.step, b.step);
  report(hazards, hazard);
}

/// The host reads the outputs after everything else.
void check_outputs(const Scene& scene, std::vector<Hazard>& hazards) {
  for (const int value : scene.program.outputs) {
    const Value& v = scene.program.values[value];
    const Reading host{-1, value, v.buffer, v.region};
    for (const Access* write : writes_of(scene, host)) {
      const int producer = scene.producers[value];
      if (write->step == producer) continue;
      if (producer >= 0 && !scene.clocks.before(producer, write->step)) continue;
      report(hazards, hazard_of(host, Cause::stale_read, write->step, common(write->region, v.region)));
    }
  }
}

}  // namespace

void find_wrong_versions(const Scene& scene, std::vector<Hazard>& hazards) {
  for (const Access& access : scene.accesses) {
    if (access.write || !access.declared || !holds_values(scene, access.buffer)) continue;
    check_reader(scene, access, hazards);
  }
  for (std::size_t buffer = 0; buffer < scene.by_buffer.size(); ++buffer) {
    if (!holds_values(scene, static_cast<int>(buffer))) continue;
    for (const int i : scene.by_buffer[buffer]) {
      for (const int j : scene.by_buffer[buffer]) {
        const Access &a = scene.accesses[i], &b = scene.accesses[j];
        if (a.write && b.write) check_writers(scene, a, b, hazards);
      }
    }
  }
  check_outputs(scene, hazards);
}

}  // namespace moediff
