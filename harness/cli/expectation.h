// What a case came to, held against what its scenario says.
#pragma once

#include <string>

#include "harness/judge/verdict.h"
#include "harness/scenario/case.h"

namespace moediff {

/// "" when as expected, otherwise what differs: "status is fail, expected pass".
std::string unexpected_because(const Expectation& expected, const Verdict& verdict);

}  // namespace moediff
