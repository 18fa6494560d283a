// Weight matrices in the reference's form, converted once and only for the experts that are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/tensor.h"
#include "reference/api.h"

namespace moediff {

/// One [n, k] matrix with the grid its elements lie on (bounds::grid_exponent).
struct PreparedMatrix {
  reference::Matrix matrix;
  int grid = 0;
};

/// The matrices of one weight tensor, [n, k] or [experts, n, k].
class WeightSet {
 public:
  /// `bytes` must outlive the set.
  WeightSet(DType dtype, Shape shape, std::span<const std::byte> bytes);
  /// Takes a copy of `bytes`.
  WeightSet(DType dtype, Shape shape, std::vector<std::byte> bytes);
  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  const PreparedMatrix& expert(std::int64_t index);

 private:
  DType dtype_;
  std::int64_t experts_ = 1, n_ = 0, k_ = 0;
  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
  std::map<std::int64_t, std::unique_ptr<PreparedMatrix>> prepared_;
};

}  // namespace moediff
