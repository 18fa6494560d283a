// JUnit XML for continuous integration.
#pragma once

#include <string>

#include "harness/store/record.h"

namespace moediff {

/// One testsuite a scenario (in order of appearance), one testcase a case or relation. Only what is *unexpected* is a
/// failure; a fault that was caught as expected is a passing testcase with its explanation in system-out.
std::string render_junit(const Report& report);

}  // namespace moediff
