// The interventions, one row each: what is changed, for which causes it is tried, in which order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/order/hazard.h"
#include "harness/program/program.h"

namespace moediff {

/// A Program (or a memory policy) with one thing changed.
struct Intervention {
  std::string name;  ///< as printed: "restore hidden_states before shared_gemm1"
  Program program;
  bool reuse_memory = true;
  bool keeps_order = false;  ///< same steps as before: a witness schedule applies to it unchanged
};

struct ExperimentRow {
  std::string_view name;
  std::string_view question;         ///< what a cure would show
  std::span<const Cause> tried_for;  ///< causes it is tried for
  /// The intervention on `program` for `hazards` (all of one kind, the deciding one first); none when it does not
  /// apply.
  std::optional<Intervention> (*apply)(const Program& program, std::span<const Hazard> hazards);
};

std::span<const ExperimentRow> experiments();

}  // namespace moediff
