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
#include "harness/model/quant.h"
#include "reference/api.h"

namespace moediff {

/// One [n, k] matrix with what the bounds need of its rows.
struct PreparedMatrix {
  reference::Matrix matrix;
  std::vector<int> grid;          ///< [n] bounds::grid_exponent of each row
  std::vector<double> max_scale;  ///< [n] largest |scale| of each row; empty: the sum is not multiplied with scales
};

/// A stored weight tensor, [n, k] or [experts, n, k]: numbers, or codes with scales [.., sn, sk].
struct StoredTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> owned;  ///< used unless `borrowed` is set
  std::span<const std::byte> borrowed;
  std::span<const std::byte> bytes() const { return borrowed.empty() ? std::span<const std::byte>(owned) : borrowed; }
};

/// How codes become numbers.
struct WeightFormat {
  QuantSpec quant;  ///< scheme none: plain numbers
  bool halves = false;
  DType model = DType::f32;
  std::int64_t k = 0;  ///< columns of the matrix, which may be stored two to a byte
};

/// The matrices of one weight tensor.
class WeightSet {
 public:
  /// Borrowed bytes must outlive the set. `scales` is not looked at for plain numbers.
  WeightSet(StoredTensor weight, StoredTensor scales, WeightFormat format);
  /// Plain numbers.
  WeightSet(DType dtype, Shape shape, std::span<const std::byte> bytes);
  std::int64_t n() const { return n_; }
  std::int64_t k() const { return format_.k; }
  const PreparedMatrix& expert(std::int64_t index);

 private:
  PreparedMatrix prepare(std::int64_t index) const;

  StoredTensor weight_, scales_;
  WeightFormat format_;
  std::int64_t experts_ = 1, n_ = 0;
  std::map<std::int64_t, std::unique_ptr<PreparedMatrix>> prepared_;
};

/// Does the product of a scheme multiply its sums with scales, instead of dequantising the weights before?
bool scales_the_sum(QuantScheme scheme);

}  // namespace moediff
