#include "harness/sensitivity/rivals.h"

#include <cmath>
#include <cstddef>

namespace moediff {
namespace {

/// Share of elements with |actual - expected| > atol + rtol |expected|; a NaN on one side only counts.
double share_beyond(std::span<const double> expected, std::span<const double> actual, double rtol, double atol) {
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
    if (!(std::fabs(actual[i] - expected[i]) <= atol + rtol * std::fabs(expected[i])) && actual[i] != expected[i])
      ++beyond;
  }
  return expected.empty() ? 0 : static_cast<double>(beyond) / static_cast<double>(expected.size());
}

bool allclose(std::span<const double> expected, std::span<const double> actual) {
  return share_beyond(expected, actual, 1e-2, 1e-2) == 0;
}

bool five_percent(std::span<const double> expected, std::span<const double> actual) {
  return share_beyond(expected, actual, 1e-2, 1e-2) <= 0.05;
}

bool most_elements(std::span<const double> expected, std::span<const double> actual) {
  return share_beyond(expected, actual, 0.85, 1e-2) <= 0.075;
}

bool calc_diff(std::span<const double> expected, std::span<const double> actual) {
  double product = 0, squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    product += expected[i] * actual[i];
    squares += expected[i] * expected[i] + actual[i] * actual[i];
  }
  return squares == 0 || 1 - 2 * product / squares < 1e-3;
}

constexpr std::array<Rival, 4> kRivals{{
    {"allclose(1e-2)", "torch.allclose with rtol = atol = 1e-2", allclose},
    {"AITER 5 %", "ROCm/aiter aiter/test_common.py checkAllclose: rtol = atol = 1e-2, 5 % may differ", five_percent},
    {"rtol 0.85 on 92.5 %", "at least 92.5 % of the elements within 0.85 |expected| + 1e-2", most_elements},
    {"calc_diff < 1e-3", "deepseek-ai/DeepGEMM deep_gemm/testing/numeric.py: 1 - 2<x,y>/(<x,x>+<y,y>)", calc_diff},
}};

}  // namespace

std::span<const Rival> rivals() { return kRivals; }

}  // namespace moediff
