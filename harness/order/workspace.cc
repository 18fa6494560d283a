// Scratch memory means nothing between ops, so any order of its users will do; but two users that nothing orders may
// run at once. The same holds for memory of the provider, which it shares between its ops as it likes.
#include <map>

#include "harness/order/ranges.h"
#include "harness/order/rules.h"

namespace moediff {
namespace {

void check_pair(const Scene& scene, const Access& a, const Access& b, std::vector<Hazard>& hazards) {
  if (a.step >= b.step || !(a.write || b.write)) return;
  if (!overlap(a.region, b.region) || !scene.clocks.unordered(a.step, b.step)) return;
  Hazard hazard;
  hazard.kind = Cause::shared_workspace;
  hazard.writer = a.step;
  hazard.reader = b.step;
  hazard.buffer = a.buffer;
  hazard.region = common(a.region, b.region);
  if (a.buffer < 0) {
    hazard.memory = scene.observed->blocks[a.block].label;
    hazard.undeclared = true;
  }
  name_missing_edge(scene, hazard, a.step, b.step);
  report(hazards, hazard);
}

void check_users(const Scene& scene, const std::vector<int>& users, std::vector<Hazard>& hazards) {
  for (const int i : users) {
    for (const int j : users) check_pair(scene, scene.accesses[i], scene.accesses[j], hazards);
  }
}

}  // namespace

void find_shared_workspaces(const Scene& scene, std::vector<Hazard>& hazards) {
  std::map<int, std::vector<int>> by_block;
  for (std::size_t i = 0; i < scene.accesses.size(); ++i) {
    if (scene.accesses[i].buffer < 0) by_block[scene.accesses[i].block].push_back(static_cast<int>(i));
  }
  for (const auto& [block, users] : by_block) check_users(scene, users, hazards);
  for (std::size_t buffer = 0; buffer < scene.by_buffer.size(); ++buffer) {
    if (scene.program.buffers[buffer].kind != BufferKind::workspace) continue;
    std::vector<int> users;
    for (const int i : scene.by_buffer[buffer]) {
      if (scene.accesses[i].declared) users.push_back(i);
    }
    check_users(scene, users, hazards);
  }
}

}  // namespace moediff
