// CHECK: an invariant of our own code. A failure is our bug, so it is loud and ends the process.
#pragma once

namespace moediff {

/// Prints `file:line: CHECK failed: condition (message)` to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* message);

}  // namespace moediff

#define CHECK(condition, message) \
  ((condition) ? (void)0 : ::moediff::check_failed(__FILE__, __LINE__, #condition, message))
