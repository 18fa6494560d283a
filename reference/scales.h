// Which scale belongs to an element of a quantised matrix, and which elements share one.
#pragma once

#include <cstdint>

#include "harness/model/quant.h"
#include "reference/api.h"

namespace moediff::reference {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Scales of a weight matrix [n, k]: shape [sn, sk] and the position of each element's (harness/model/quant.h).
class WeightScaleMap {
 public:
  WeightScaleMap(const QuantSpec& spec, std::int64_t n, std::int64_t k, bool halves);
  std::int64_t sn() const { return sn_; }
  std::int64_t sk() const { return sk_; }
  /// Index in the scales of that of row `n`, column `k`.
  std::int64_t operator()(std::int64_t n, std::int64_t k) const { return row_block(n) * sk_ + k / columns_; }

 private:
  std::int64_t row_block(std::int64_t n) const { return n / half_ * blocks_of_half_ + n % half_ / rows_; }
  std::int64_t half_ = 1;            ///< rows that are cut into blocks together
  std::int64_t rows_ = 1;            ///< of a block
  std::int64_t columns_ = 1;         ///< of a block
  std::int64_t blocks_of_half_ = 1;  ///< block rows of a half
  std::int64_t sn_ = 0, sk_ = 0;
};

/// Scales of activations: shape [of_rows, of_columns] and the position of each element's.
class ActivationScaleMap {
 public:
  ActivationScaleMap(ScaleGroups groups, std::int64_t rows, std::int64_t columns);
  std::int64_t of_rows() const { return of_rows_; }
  std::int64_t of_columns() const { return of_columns_; }
  std::int64_t size() const { return of_rows_ * of_columns_; }
  std::int64_t operator()(std::int64_t row, std::int64_t column) const {
    return whole_ ? 0 : row * of_columns_ + column / group_;
  }

 private:
  bool whole_;
  std::int64_t group_, of_rows_, of_columns_;
};

}  // namespace moediff::reference
