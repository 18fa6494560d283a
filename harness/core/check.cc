#include "harness/core/check.h"

#include <cstdio>
#include <cstdlib>

namespace moediff {

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s (%s)\nThis is a bug in moediff, not in your input.\n", file, line,
               condition, message);
  std::abort();
}

}  // namespace moediff
