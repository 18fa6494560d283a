// The rules, one file each. Each adds the hazards of its kind to the list.
#pragma once

#include <vector>

#include "harness/order/scene.h"

namespace moediff {

/// Does every reader find the version it means? stale_read, unordered_access, uninitialised. Declared accesses only.
void find_wrong_versions(const Scene& scene, std::vector<Hazard>& hazards);
/// Accesses that no operand declares: undeclared_write with each of its victims, undeclared_read.
void find_undeclared(const Scene& scene, std::vector<Hazard>& hazards);
/// Scratch memory used by two steps that nothing orders: shared_workspace.
void find_shared_workspaces(const Scene& scene, std::vector<Hazard>& hazards);
/// Accesses outside the life of a pooled buffer: lifetime.
void find_lifetimes(const Scene& scene, std::vector<Hazard>& hazards);

/// Wait steps whose edge others imply.
std::vector<int> find_redundant_waits(const Scene& scene);

}  // namespace moediff
