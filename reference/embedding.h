// Rows of an embedding table, of tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/require.h"

namespace moediff::reference {

inline std::vector<double> embed(std::span<const double> table, std::span<const std::int32_t> tokens,
                                 std::int64_t hidden) {
  std::vector<double> out;
  const std::int64_t vocabulary = static_cast<std::int64_t>(table.size()) / hidden;
  for (const std::int32_t token : tokens) {
    require(0 <= token && token < vocabulary, "tokens must be in the vocabulary");
    const auto begin = table.begin() + token * hidden;
    out.insert(out.end(), begin, begin + hidden);
  }
  return out;
}

}  // namespace moediff::reference
