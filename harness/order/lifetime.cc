// A pooled buffer lives from its alloc to its free on the streams that these are issued on. Every access must come
// after the one and before the other on every schedule; and two buffers that own the same bytes in turn must not meet.
#include <algorithm>
#include <optional>

#include "harness/order/ranges.h"
#include "harness/order/rules.h"

namespace moediff {
namespace {

struct Life {
  int alloc = -1, free = -1;  ///< steps; -1: none
};

std::vector<Life> lives_of(const Scene& scene) {
  std::vector<Life> lives(scene.program.buffers.size());
  for (std::size_t i = 0; i < scene.program.steps.size(); ++i) {
    const Step& step = scene.program.steps[i];
    if (!scene.clocks.issued(static_cast<int>(i))) continue;
    if (step.kind == StepKind::alloc) lives[step.buffer].alloc = static_cast<int>(i);
    if (step.kind == StepKind::free) lives[step.buffer].free = static_cast<int>(i);
  }
  return lives;
}

bool too_early(const Scene& scene, const Life& life, int step) {
  return life.alloc >= 0 && !scene.clocks.before(life.alloc, step);
}
bool too_late(const Scene& scene, const Life& life, int step) {
  return life.free >= 0 && !scene.clocks.before(step, life.free);
}

int value_of(const Scene& scene, const Access& access) {
  if (!access.declared) return value_before(scene, access.buffer, access.region, access.step);
  const std::vector<int>& values = scene.program.steps[access.step].operands[access.operand].values;
  return values.empty() ? -1 : values.front();
}

/// The bytes of an access as they lay in its block, if the run says where.
std::optional<Region> in_block(const Scene& scene, const Access& access) {
  if (access.buffer >= static_cast<int>(scene.traced.placement.size())) return std::nullopt;
  const Placement& place = scene.traced.placement[access.buffer];
  if (place.block < 0) return std::nullopt;
  Region region = access.region;
  region.offset += place.offset;
  return region;
}

/// Do two accesses of different buffers meet in the same bytes of one block?
bool meet(const Scene& scene, const Access& a, const Access& b) {
  if (a.buffer == b.buffer) return false;
  const std::optional<Region> first = in_block(scene, a), second = in_block(scene, b);
  if (!first || !second) return false;
  return scene.traced.placement[a.buffer].block == scene.traced.placement[b.buffer].block && overlap(*first, *second);
}

/// The other tenants' step that overwrites, or may overwrite, what `access` means; -1 when nobody got the block.
int writer_of_other_tenant(const Scene& scene, const std::vector<Life>& lives, const Access& access) {
  int found = -1;
  for (const Access& other : scene.accesses) {
    if (!other.write || other.buffer < 0 || !meet(scene, access, other)) continue;
    const bool is_next = lives[other.buffer].alloc > lives[access.buffer].alloc;
    const bool safe =
        is_next ? scene.clocks.before(access.step, other.step) : scene.clocks.before(other.step, access.step);
    if (!safe && other.step != access.step && (found < 0 || other.step < found)) found = other.step;
  }
  return found;
}

Hazard hazard_of(const Scene& scene, const Access& victim, int writer) {
  Hazard hazard;
  hazard.kind = Cause::lifetime;
  hazard.writer = writer;
  hazard.reader = victim.step;
  hazard.value = value_of(scene, victim);
  hazard.buffer = victim.buffer;
  hazard.region = victim.region;
  hazard.undeclared = !victim.declared;
  return hazard;
}

/// Two tenants whose own alloc and free are in order, but not with each other: the pool handed the block on too soon.
void check_tenants(const Scene& scene, const Access& first, const Access& next, std::vector<Hazard>& hazards) {
  if (!(first.write || next.write) || first.step == next.step) return;
  if (!meet(scene, first, next) || scene.clocks.before(first.step, next.step)) return;
  Hazard hazard = next.write ? hazard_of(scene, first, next.step) : hazard_of(scene, next, first.step);
  name_missing_edge(scene, hazard, first.step, next.step);
  report(hazards, hazard);
}

}  // namespace

void find_lifetimes(const Scene& scene, std::vector<Hazard>& hazards) {
  const std::vector<Life> lives = lives_of(scene);
  std::vector<const Access*> sound;
  for (const Access& access : scene.accesses) {
    if (access.buffer < 0 || !scene.program.buffers[access.buffer].pooled) continue;
    const Life& life = lives[access.buffer];
    const bool early = too_early(scene, life, access.step), late = too_late(scene, life, access.step);
    if (!early && !late) {
      sound.push_back(&access);
      continue;
    }
    Hazard hazard = hazard_of(scene, access, writer_of_other_tenant(scene, lives, access));
    if (late) {
      name_missing_edge(scene, hazard, access.step, life.free);
    } else {
      name_missing_edge(scene, hazard, life.alloc, access.step);
    }
    report(hazards, hazard);
  }
  for (const Access* a : sound) {
    for (const Access* b : sound) {
      if (lives[a->buffer].alloc < lives[b->buffer].alloc) check_tenants(scene, *a, *b, hazards);
    }
  }
}

}  // namespace moediff
