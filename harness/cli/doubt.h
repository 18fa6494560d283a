// What was not watched was not checked.
#pragma once

#include "harness/judge/verdict.h"
#include "harness/run/run.h"

namespace moediff {

/// Turns a pass into an error when the observation pass did not end: nobody can say then what the ops touched. Backends
/// that cannot observe end theirs well, unobserved, and keep their pass.
void doubt_unwatched(Verdict& verdict, const Run& observation);

}  // namespace moediff
