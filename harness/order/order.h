// From clocks and accesses to hazards (architecture §3). Looks at no numbers and knows nothing of faults or
// expectations.
#pragma once

#include <vector>

#include "harness/order/hazard.h"
#include "harness/run/run.h"

namespace moediff {

/// Dynamic: `traced` gives the clocks and where buffers lay; `observed` (may be null) the accesses really seen, else
/// the declared ones are used.
OrderResult analyse_order(const Program& program, const Run& traced, const Run* observed);

/// Static: does every reader find the version it means, on every schedule? From the Program alone, nothing is run.
OrderResult static_check(const Program& program);

/// Schedules that each make the hazard's victim meet the wrong version, most promising first: complete orders of
/// trace items that respect every happens-before edge of `traced`. Empty for hazards that any schedule shows.
std::vector<std::vector<int>> witness_orders(const Program& program, const Run& traced, const Hazard& hazard);

}  // namespace moediff
