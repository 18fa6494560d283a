// When threads are worth their start. Results do not depend on it: a work unit's bits are its own.
#pragma once

#include <cstdint>

namespace moediff::reference {

/// A team costs microseconds on an idle machine and milliseconds on a busy one, where its slowest thread waits for a
/// core.
inline bool worth_threads(std::int64_t operations) {
  constexpr std::int64_t kMilliseconds = 1 << 22;  // operations that take a few of them
  return operations >= kMilliseconds;
}

}  // namespace moediff::reference
