// Names of the diff's words.
#include "harness/compare/diff.h"

#include <array>

namespace moediff {

std::string_view to_string(DiffMode mode) {
  constexpr std::array<std::string_view, 3> kNames{"local", "as_read", "chained"};
  return kNames[static_cast<std::size_t>(mode)];
}

}  // namespace moediff
