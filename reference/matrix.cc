// Transposing a weight, block by block so that both sides stay in cache.
#include <Eigen/Core>
#include <algorithm>

#include "reference/api.h"
#include "reference/parallel.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

constexpr std::int64_t kBlock = 64;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

Matrix::Matrix(std::span<const double> weight, std::int64_t n, std::int64_t k) : n_(n), k_(k) {
  require(n >= 0 && k >= 0 && static_cast<std::int64_t>(weight.size()) == n * k, "a weight must be [n, k]");
  transposed_.resize(weight.size());
  const Eigen::Map<const RowMajor> from(weight.data(), n, k);
  Eigen::Map<RowMajor> to(transposed_.data(), k, n);
#pragma omp parallel for schedule(static) if (worth_threads(n * k * 8))
  for (std::int64_t row = 0; row < k; row += kBlock) {
    const std::int64_t rows = std::min(kBlock, k - row);
    for (std::int64_t column = 0; column < n; column += kBlock) {
      const std::int64_t columns = std::min(kBlock, n - column);
      to.block(row, column, rows, columns) = from.block(column, row, columns, rows).transpose();
    }
  }
}

}  // namespace moediff::reference
