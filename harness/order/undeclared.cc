// An undeclared write is a hazard in itself; every reader whose version it may spoil is a victim of its own. An
// undeclared read is one too, whoever wrote what it sees.
#include "harness/order/ranges.h"
#include "harness/order/rules.h"

namespace moediff {
namespace {

Hazard hazard_of(const Access& access, Cause kind) {
  Hazard hazard;
  hazard.kind = kind;
  hazard.buffer = access.buffer;
  hazard.region = access.region;
  hazard.undeclared = true;
  return hazard;
}

/// Reports each reader that means a value in the bytes of `write` and may find it overwritten.
bool report_victims(const Scene& scene, const Access& write, std::vector<Hazard>& hazards) {
  bool found = false;
  for (const int i : scene.by_buffer[write.buffer]) {
    const Access& read = scene.accesses[i];
    if (read.write || !read.declared || read.step == write.step) continue;
    const Operand& operand = scene.program.steps[read.step].operands[read.operand];
    for (const int value : operand.values) {
      const Region meant = meant_bytes(scene.program, operand, value);
      // Scratch means something only while its own step runs.
      const bool scratch = scene.producers[value] == read.step;
      const bool spoils = scratch ? scene.clocks.unordered(write.step, read.step)
                                  : may_come_between(scene, value, write.step, read.step);
      if (!overlap(meant, write.region) || !spoils) continue;
      Hazard hazard = hazard_of(write, Cause::undeclared_write);
      hazard.writer = write.step;
      hazard.reader = read.step;
      hazard.value = value;
      hazard.region = common(write.region, meant);
      name_missing_edge(scene, hazard, read.step, write.step);
      report(hazards, hazard);
      found = true;
    }
  }
  return found;
}

void report_without_victim(const Scene& scene, const Access& write, std::vector<Hazard>& hazards) {
  Hazard hazard = hazard_of(write, Cause::undeclared_write);
  hazard.writer = write.step;
  hazard.value = value_before(scene, write.buffer, write.region, write.step);
  report(hazards, hazard);
}

/// Whose bytes does an undeclared read see? A writer that nothing orders with it, else the last one before it.
int writer_seen(const Scene& scene, const Access& read) {
  int last = -1;
  for (const int i : scene.by_buffer[read.buffer]) {
    const Access& write = scene.accesses[i];
    if (!write.write || write.step == read.step || !overlap(write.region, read.region)) continue;
    if (scene.clocks.unordered(write.step, read.step)) return write.step;
    if (scene.clocks.before(write.step, read.step) && write.step > last) last = write.step;
  }
  return last;
}

void report_read(const Scene& scene, const Access& read, std::vector<Hazard>& hazards) {
  Hazard hazard = hazard_of(read, Cause::undeclared_read);
  hazard.writer = writer_seen(scene, read);
  hazard.reader = read.step;
  hazard.value = value_before(scene, read.buffer, read.region, read.step);
  if (hazard.writer >= 0) name_missing_edge(scene, hazard, hazard.writer, read.step);
  report(hazards, hazard);
}

/// Provider-owned memory on whose earlier content a result depends.
void report_dependence(const Scene& scene, const StepAccesses& seen, std::vector<Hazard>& hazards) {
  for (const int block : seen.depends_on) {
    if (block < 0 || block >= static_cast<int>(scene.observed->blocks.size())) continue;
    const MemoryBlock& memory = scene.observed->blocks[block];
    if (!memory.provider_owned) continue;
    Hazard hazard;
    hazard.kind = Cause::undeclared_read;
    hazard.reader = seen.step;
    hazard.memory = memory.label;
    hazard.region = region_of({0, memory.bytes});
    hazard.undeclared = true;
    report(hazards, hazard);
  }
}

}  // namespace

void find_undeclared(const Scene& scene, std::vector<Hazard>& hazards) {
  std::vector<const Access*> harmless;
  for (const Access& access : scene.accesses) {
    if (access.declared || access.buffer < 0) continue;
    if (!access.write) {
      report_read(scene, access, hazards);
    } else if (!report_victims(scene, access, hazards)) {
      harmless.push_back(&access);
    }
  }
  // One fragment of a write may have a victim where another has none: a writer with victims needs no second entry.
  const auto has_victim = [&](const Access& write) {
    for (const Hazard& hazard : hazards) {
      if (hazard.kind == Cause::undeclared_write && hazard.writer == write.step && hazard.buffer == write.buffer &&
          hazard.reader >= 0) {
        return true;
      }
    }
    return false;
  };
  for (const Access* write : harmless) {
    if (!has_victim(*write)) report_without_victim(scene, *write, hazards);
  }
  if (scene.observed == nullptr) return;
  for (const StepAccesses& seen : scene.observed->accesses) report_dependence(scene, seen, hazards);
}

}  // namespace moediff
