// Preconditions of the reference. A violation is the caller's bug, so it is an exception that nobody expects to catch.
#pragma once

#include <stdexcept>

namespace moediff::reference {

/// Throws std::logic_error with `rule` unless `holds`. Never call it inside a parallel region.
inline void require(bool holds, const char* rule) {
  if (!holds) throw std::logic_error(rule);
}

}  // namespace moediff::reference
