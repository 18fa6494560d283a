// The judge's rules, strongest evidence first. Each gives a verdict or has nothing to say.
#pragma once

#include <optional>

#include "harness/judge/case_view.h"

namespace moediff {

/// The run itself: crash, hang, illegal access, the provider's own error, damaged red zones.
std::optional<Verdict> judge_run(const CaseView& view);
/// Hazards: the first one decides.
std::optional<Verdict> judge_hazards(const CaseView& view);
/// A step that gave other bits when repeated, with nothing undeclared to blame it on.
std::optional<Verdict> judge_repeats(const CaseView& view);
/// Numbers: the first failing stage, then the outputs, then whether anything was compared at all.
std::optional<Verdict> judge_numbers(const CaseView& view);

}  // namespace moediff
