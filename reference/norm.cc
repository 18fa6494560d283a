// RMSNorm, row by row.
#include <cmath>

#include "reference/attention.h"
#include "reference/require.h"

namespace moediff::reference {

std::vector<double> rms_norm(std::span<const double> x, std::span<const double> weight, double epsilon) {
  const std::size_t n = weight.size();
  require(n > 0 && x.size() % n == 0, "the rows of a norm must have one element a weight");
  std::vector<double> out;
  out.reserve(x.size());
  for (std::size_t row = 0; row < x.size(); row += n) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += x[row + i] * x[row + i];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + epsilon);
    for (std::size_t i = 0; i < n; ++i) out.push_back(x[row + i] * scale * weight[i]);
  }
  return out;
}

}  // namespace moediff::reference
