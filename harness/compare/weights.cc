// Lazy conversion of weights: bytes to doubles (codes by the reference's weight_values) to its transposed matrix.
#include "harness/compare/weights.h"

#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/accumulation.h"
#include "harness/core/check.h"

namespace moediff {
namespace {

/// Bytes of one of `count` equal parts.
std::span<const std::byte> part(std::span<const std::byte> bytes, std::int64_t index, std::int64_t count) {
  const std::size_t size = bytes.size() / static_cast<std::size_t>(count);
  return bytes.subspan(static_cast<std::size_t>(index) * size, size);
}

/// Largest |scale| that a row of the matrix can meet: of its block row or of its own row.
std::vector<double> largest_by_row(std::span<const double> scales, std::int64_t n, std::int64_t sn, std::int64_t sk,
                                   const WeightFormat& format) {
  std::vector<double> by_scale_row(static_cast<std::size_t>(sn));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    double& largest = by_scale_row[i / static_cast<std::size_t>(sk)];
    largest = std::max(largest, std::fabs(scales[i]));
  }
  std::vector<double> out(static_cast<std::size_t>(n));
  const std::int64_t group = format.quant.group, half = format.halves ? n / 2 : n;
  for (std::int64_t row = 0; row < n; ++row) {
    std::int64_t at = sn == 1 ? 0 : row;  // tensor, channel
    if (moediff::row(format.quant.scheme).weight_scales == WeightScales::block)
      at = row / half * ((half + group - 1) / group) + row % half / group;
    out[static_cast<std::size_t>(row)] = by_scale_row[static_cast<std::size_t>(at)];
  }
  return out;
}

}  // namespace

bool scales_the_sum(QuantScheme scheme) { return row(scheme).activation != ActivationScales::none; }

WeightSet::WeightSet(StoredTensor weight, StoredTensor scales, WeightFormat format)
    : weight_(std::move(weight)), scales_(std::move(scales)), format_(format) {
  const Shape& shape = weight_.shape;
  CHECK(shape.size() == 2 || shape.size() == 3, "a weight is [n, k] or [experts, n, k]");
  if (shape.size() == 3) experts_ = shape[0];
  n_ = shape[shape.size() - 2];
  CHECK(static_cast<std::int64_t>(weight_.bytes().size()) == count(shape) * size_of(weight_.dtype),
        "a weight has the bytes of its shape");
}

WeightSet::WeightSet(DType dtype, Shape shape, std::span<const std::byte> bytes)
    : WeightSet({dtype, shape, {}, bytes}, {}, {{}, false, dtype, shape.back()}) {}

PreparedMatrix WeightSet::prepare(std::int64_t index) const {
  const std::span<const std::byte> codes = part(weight_.bytes(), index, experts_);
  std::vector<double> values;
  PreparedMatrix out;
  if (format_.quant.scheme == QuantScheme::none) {
    values = to_doubles(weight_.dtype, codes);
  } else {
    const std::vector<double> scales = to_doubles(scales_.dtype, part(scales_.bytes(), index, experts_));
    const std::int64_t sn = scales_.shape[scales_.shape.size() - 2], sk = scales_.shape.back();
    values =
        reference::weight_values({n_, format_.k, codes, scales, sn, sk}, format_.quant, format_.halves, format_.model);
    if (scales_the_sum(format_.quant.scheme)) out.max_scale = largest_by_row(scales, n_, sn, sk, format_);
  }
  const auto columns = static_cast<std::size_t>(format_.k);
  for (std::size_t row = 0; row < static_cast<std::size_t>(n_); ++row)
    out.grid.push_back(bounds::grid_exponent(std::span(values).subspan(row * columns, columns)));
  out.matrix = reference::Matrix(values, n_, format_.k);
  return out;
}

const PreparedMatrix& WeightSet::expert(std::int64_t index) {
  CHECK(index >= 0 && index < experts_, "the expert exists");
  std::unique_ptr<PreparedMatrix>& slot = prepared_[index];
  if (!slot) slot = std::make_unique<PreparedMatrix>(prepare(index));
  return *slot;
}

}  // namespace moediff
