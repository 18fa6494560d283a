// The candidate's side of a replay: a file's layer as a case with its inputs, run by a provider as `moediff run` does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/inputs.h"
#include "harness/replay/check.h"
#include "harness/run/executor.h"
#include "harness/scenario/case.h"

namespace moediff {

struct CandidateOptions {
  Executor* executor = nullptr;  ///< null: the reference alone is compared
  ProviderSpec provider;
  double timeout_seconds = 60;
};

/// A layer to run: nothing varied, nothing planted, on one stream.
struct LayerJob {
  Case spec;
  Inputs inputs;
};

struct CandidateRun {
  Program program;
  Run run;
  std::vector<Check> checks;  ///< that it ran to its end, and moediff's local comparison of every stage
};

/// `who` names the run in its checks: "as hf". Throws CannotRun when there is no such provider.
CandidateRun run_candidate(LayerJob job, const std::string& who, const CandidateOptions& options);

/// A value as the candidate stored it, by its name in the Program; nothing when it was not captured.
std::optional<std::vector<double>> stored(const CandidateRun& candidate, std::string_view value);
/// The layer's result [T, H]; nothing when it was not captured.
std::optional<std::vector<double>> result_of(const CandidateRun& candidate);

}  // namespace moediff
