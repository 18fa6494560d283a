#include "harness/diagnose/experiments.h"

#include <algorithm>
#include <array>

#include "harness/program/rewrite.h"

namespace moediff {
namespace {

const Step& step_of(const Program& program, int step) { return program.steps[static_cast<std::size_t>(step)]; }

// Without its chunk: "shared_gemm1".
std::string plain_name(const Step& step) { return step.name.substr(0, step.name.find('[')); }

// Every victim of the same kind gets its value back; the name speaks of the first.
std::optional<Intervention> restore(const Program& program, std::span<const Hazard> hazards) {
  Intervention intervention;
  intervention.program = program;
  for (const Hazard& hazard : hazards) {
    if (hazard.reader < 0 || hazard.value < 0) continue;
    // Earlier rewrites insert steps, so the reader is found again by its name.
    const int reader = find_step(intervention.program, step_of(program, hazard.reader).name);
    intervention.program = restore_before(intervention.program, hazard.value, reader);
    if (intervention.name.empty()) {
      intervention.name = "restore " + program.values[static_cast<std::size_t>(hazard.value)].name + " before " +
                          plain_name(step_of(program, hazard.reader));
    }
  }
  if (intervention.name.empty()) return std::nullopt;
  return intervention;
}

std::optional<Intervention> add_edges(const Program& program, std::span<const Hazard> hazards) {
  Intervention intervention;
  intervention.program = program;
  for (const Hazard& hazard : hazards) {
    if (hazard.edge_from < 0 || hazard.edge_to < 0) continue;
    const std::string from = step_of(program, hazard.edge_from).name, to = step_of(program, hazard.edge_to).name;
    std::optional<Program> changed =
        with_edge(intervention.program, find_step(intervention.program, from), find_step(intervention.program, to));
    if (!changed) continue;
    intervention.program = std::move(*changed);
    intervention.name += (intervention.name.empty() ? "make " : " and ") + to + " wait for " + from;
  }
  if (intervention.name.empty()) return std::nullopt;
  return intervention;
}

std::optional<Intervention> synchronise(const Program& program, std::span<const Hazard>) {
  return Intervention{"synchronise after every op", synchronised(program), true, false};
}

std::optional<Intervention> private_workspaces(const Program& program, std::span<const Hazard>) {
  const bool any = std::any_of(program.buffers.begin(), program.buffers.end(),
                               [](const Buffer& b) { return b.kind == BufferKind::workspace; });
  if (!any) return std::nullopt;
  return Intervention{"give every op a workspace of its own", with_private_workspaces(program), true, true};
}

std::optional<Intervention> never_reuse(const Program& program, std::span<const Hazard>) {
  return Intervention{"never reuse freed memory", program, false, true};
}

constexpr std::array kRestore{Cause::stale_read, Cause::undeclared_write};
constexpr std::array kEdge{Cause::unordered_access, Cause::shared_workspace, Cause::lifetime};
constexpr std::array kSynchronise{Cause::stale_read,
                                  Cause::undeclared_write,
                                  Cause::unordered_access,
                                  Cause::shared_workspace,
                                  Cause::lifetime,
                                  Cause::wrong_math,
                                  Cause::nan,
                                  Cause::wrong_routing};
constexpr std::array kWorkspaces{Cause::shared_workspace, Cause::unordered_access};
constexpr std::array kReuse{Cause::lifetime, Cause::shared_workspace};

constexpr std::array<ExperimentRow, 5> kExperiments{{
    {"restore", "did the reader only meet the wrong version?", kRestore, restore},
    {"private_workspace", "do two ops share scratch?", kWorkspaces, private_workspaces},
    {"never_reuse", "was memory handed out again too early?", kReuse, never_reuse},
    {"add_edge", "is this wait the missing one?", kEdge, add_edges},
    {"synchronise", "is it a matter of timing at all?", kSynchronise, synchronise},
}};

}  // namespace

std::span<const ExperimentRow> experiments() { return kExperiments; }

}  // namespace moediff
