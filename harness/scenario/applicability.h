// Combinations that mean nothing are skipped with a reason, before anything runs (architecture §9.6).
#pragma once

#include <vector>

#include "harness/scenario/case.h"

namespace moediff {

/// Sets `skip_reason` where a case asks for something that its model has not: fused or aux without shared experts; an
/// order where there is none. Of cases that differ only in a meaningless order the first one runs.
void mark_inapplicable(std::vector<Case>& cases);

}  // namespace moediff
