// Lazy conversion of weights: bytes to doubles to the reference's transposed matrix.
#include "harness/compare/weights.h"

#include "harness/compare/bounds/accumulation.h"
#include "harness/core/check.h"

namespace moediff {

WeightSet::WeightSet(DType dtype, Shape shape, std::span<const std::byte> bytes) : dtype_(dtype), bytes_(bytes) {
  CHECK(shape.size() == 2 || shape.size() == 3, "a weight is [n, k] or [experts, n, k]");
  if (shape.size() == 3) experts_ = shape[0];
  n_ = shape[shape.size() - 2];
  k_ = shape[shape.size() - 1];
  CHECK(static_cast<std::int64_t>(bytes_.size()) == experts_ * n_ * k_ * size_of(dtype_),
        "a weight has the bytes of its shape");
}

WeightSet::WeightSet(DType dtype, Shape shape, std::vector<std::byte> bytes)
    : WeightSet(dtype, std::move(shape), std::span<const std::byte>(bytes)) {
  owned_ = std::move(bytes);  // moving a vector keeps its storage, so bytes_ stays valid
}

const PreparedMatrix& WeightSet::expert(std::int64_t index) {
  CHECK(index >= 0 && index < experts_, "the expert exists");
  std::unique_ptr<PreparedMatrix>& slot = prepared_[index];
  if (!slot) {
    const auto size = static_cast<std::size_t>(n_ * k_ * size_of(dtype_));
    const std::vector<double> values = to_doubles(dtype_, bytes_.subspan(static_cast<std::size_t>(index) * size, size));
    slot = std::make_unique<PreparedMatrix>(
        PreparedMatrix{reference::Matrix(values, n_, k_), bounds::grid_exponent(values)});
  }
  return *slot;
}

}  // namespace moediff
