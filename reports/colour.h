// Colour and the words that name a record's outcome: shared by the parts of the console report.
#pragma once

#include <string>
#include <string_view>

#include "harness/store/record.h"

namespace moediff {

enum class Ink { red, green, yellow, blue, grey, bold };

/// `text` between the escape codes of `ink`, or as it is without colour.
std::string paint(std::string_view text, Ink ink, bool colour);

/// "UNEXPECTED", "caught" (a failure that was expected), or the status.
std::string_view outcome(Status status, bool as_expected);
Ink outcome_ink(Status status, bool as_expected);

/// "stale_read at shared_gemm1 (hidden_states, written by combine)"; "" when there is no cause.
std::string cause_and_place(const Verdict& verdict);

}  // namespace moediff
