// All rules over one scene, the findings sorted so that root causes come first.
#include "harness/order/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "harness/order/rules.h"
#include "harness/order/synthetic_trace.h"

namespace moediff {
namespace {

// A block used beyond its life, or a scratch shared, makes every other access to it look wrong as well; an undeclared
// access is a breach of contract, an order that the Program itself gets wrong is one of its own.
constexpr std::array<Cause, 7> kRootCausesFirst{
    Cause::lifetime,         Cause::shared_workspace, Cause::undeclared_write, Cause::undeclared_read,
    Cause::unordered_access, Cause::stale_read,       Cause::uninitialised};

/// A wait that is missing between two steps is missing for the pool as well: a lifetime whose edge goes the same way
/// between the same streams as that of a data hazard is a consequence of it, and no finding about the pool.
bool follows_from(const Scene& scene, const Hazard& lifetime, const Hazard& data) {
  if (data.kind != Cause::unordered_access || data.edge_missing.empty()) return false;
  const auto at_or_before = [&](int a, int b) { return a == b || scene.clocks.before(a, b); };
  const auto stream = [&](int step) { return scene.program.steps[step].stream; };
  return at_or_before(lifetime.edge_from, data.edge_from) && stream(lifetime.edge_to) == stream(data.edge_to);
}

bool is_consequence(const Scene& scene, const Hazard& hazard, const std::vector<Hazard>& all) {
  if (hazard.kind != Cause::lifetime || hazard.edge_missing.empty()) return false;
  return std::any_of(all.begin(), all.end(), [&](const Hazard& data) { return follows_from(scene, hazard, data); });
}

using SortKey = std::array<std::int64_t, 5>;

SortKey sort_key(const Scene& scene, const Hazard& hazard, const std::vector<Hazard>& all) {
  const auto rank = [](Cause kind) {
    return std::find(kRootCausesFirst.begin(), kRootCausesFirst.end(), kind) - kRootCausesFirst.begin();
  };
  constexpr std::int64_t kLast = std::numeric_limits<int>::max();
  const bool late = is_consequence(scene, hazard, all);
  return {rank(late ? Cause::unordered_access : hazard.kind), late, hazard.reader < 0 ? kLast : hazard.reader,
          hazard.writer, hazard.value};
}

std::vector<Hazard> root_causes_first(const Scene& scene, const std::vector<Hazard>& hazards) {
  std::vector<std::pair<SortKey, std::size_t>> keys;
  for (std::size_t i = 0; i < hazards.size(); ++i) keys.emplace_back(sort_key(scene, hazards[i], hazards), i);
  std::sort(keys.begin(), keys.end());
  std::vector<Hazard> sorted;
  for (const auto& [key, i] : keys) sorted.push_back(hazards[i]);
  return sorted;
}

/// Why "no conflict" would not mean "every schedule gives the same"; "" when it does.
std::string why_incomplete(const Program& program, const Run& traced, const Run* observed) {
  if (traced.trace.empty()) return "the backend keeps no trace: the order is the one declared";
  if (observed == nullptr || !observed->observed) return "nothing was observed: the accesses are the declared ones";
  if (observed->status != RunStatus::ok) return "the observation did not end well: " + observed->detail;
  std::vector<const StepAccesses*> seen(program.steps.size(), nullptr);
  for (const StepAccesses& accesses : observed->accesses) {
    if (accesses.step >= 0 && accesses.step < static_cast<int>(seen.size())) seen[accesses.step] = &accesses;
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind != StepKind::call) continue;
    const std::string& name = program.steps[i].name;
    if (seen[i] == nullptr || seen[i]->touches.empty()) return fmt::format("{} was not observed", name);
    if (!seen[i]->probe_note.empty()) return fmt::format("{} could not be probed: {}", name, seen[i]->probe_note);
    if (!seen[i]->depends_on.empty()) return fmt::format("{} depends on memory that it does not declare to read", name);
    if (!seen[i]->repeated_bitwise) return fmt::format("{} gave other bits when it was repeated", name);
  }
  return "";
}

}  // namespace

OrderResult analyse_order(const Program& program, const Run& traced, const Run* observed) {
  const Scene scene = make_scene(program, traced, observed);
  std::vector<Hazard> found;
  find_lifetimes(scene, found);
  find_shared_workspaces(scene, found);
  find_undeclared(scene, found);
  find_wrong_versions(scene, found);
  OrderResult result;
  result.hazards = root_causes_first(scene, found);
  result.redundant_waits = find_redundant_waits(scene);
  result.incomplete_reason = why_incomplete(program, traced, observed);
  result.complete = result.incomplete_reason.empty();
  return result;
}

OrderResult static_check(const Program& program) {
  Run imagined;
  imagined.trace = synthetic_trace(program);
  for (std::size_t buffer = 0; buffer < program.buffers.size(); ++buffer) {
    imagined.blocks.push_back({program.buffers[buffer].name, program.buffers[buffer].bytes, false});
    imagined.placement.push_back({static_cast<int>(buffer), 0});  // a block each: lifetimes need no reuse to be judged
  }
  return analyse_order(program, imagined, nullptr);
}

}  // namespace moediff
