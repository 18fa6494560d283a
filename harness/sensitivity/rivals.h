// How the field checks outputs today, to be measured against: each looks at the layer's output as a whole, as the
// projects do.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace moediff {

struct Rival {
  std::string_view name, source;
  /// Does the check accept `actual`?
  bool (*accepts)(std::span<const double> expected, std::span<const double> actual);
};

/// allclose(1e-2, 1e-2); AITER's checkAllclose, which lets 5 % of the elements differ; rtol 0.85 on 92.5 % of the
/// elements; DeepGEMM's calc_diff < 1e-3.
std::span<const Rival> rivals();

}  // namespace moediff
