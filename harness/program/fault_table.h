// The faults that moediff can plant, one row each: a rewrite of the Program, or a kernel variant behind the provider
// interface with the Program unchanged. Only the planting side sees this table; order, compare and judge do not (§7).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/program/program.h"

namespace moediff {

struct FaultRow {
  std::string_view name;    ///< in scenarios: `fault: alias1`
  std::string_view id;      ///< in the catalogue of public bugs: ALIAS-1
  std::string_view report;  ///< public report
  std::string_view
      planted;  ///< "declared": the Program is rewritten; "undeclared": a kernel variant, the Program is unchanged
  std::string_view needs;     ///< the configuration it applies to, in words
  std::string_view summary;   ///< what goes wrong, one sentence
  std::string_view variants;  ///< undeclared: ProviderSpec::variants
  /// Rewrites the Program and returns nothing, or returns why the fault does not apply to it. `argument` is the case's
  /// `drop_wait`. For undeclared faults it changes nothing and only refuses; null: applies everywhere.
  std::optional<std::string> (*rewrite)(Program& program, std::string_view argument);
};

std::span<const FaultRow> faults();
const FaultRow* find_fault(std::string_view name);

}  // namespace moediff
