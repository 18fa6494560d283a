// Dtypes and shapes of what a quantisation scheme stores (harness/model/quant.h): codes, scales, offsets.
#pragma once

#include <cstdint>

#include "harness/core/tensor.h"
#include "harness/model/quant.h"

namespace moediff {

/// A weight matrix [n, k] as stored. `columns`: stored elements of a row (two codes a byte for int4 and fp4).
struct WeightLayout {
  DType codes = DType::f32;
  std::int64_t columns = 0;
  bool scaled = false;  ///< has scales [sn, sk]
  DType scales = DType::f32;
  std::int64_t sn = 0, sk = 0;
  bool offset = false;  ///< has an offset [n, 1] of the dtype of the scales
};
/// `model`: the model dtype, or field (codes and scales are field elements then, and nothing is packed). `halves`: rows
/// are gate, then up.
WeightLayout weight_layout(const QuantSpec& spec, DType model, std::int64_t n, std::int64_t k, bool halves);

/// Activations [rows, k] before a product with weights of the scheme.
struct ActivationLayout {
  bool quantised = false;
  DType codes = DType::f32, scales = DType::f32;
  std::int64_t scale_columns = 1;
  bool whole = false;  ///< one scale [1, 1] for all rows
  Shape scale_shape(std::int64_t rows) const { return {whole ? 1 : rows, scale_columns}; }
};
ActivationLayout activation_layout(const QuantSpec& spec, DType model, std::int64_t k);

/// fmax as the kernels need it: the format's maximum where the scenario gives 0.
double resolved_fmax(const QuantSpec& spec);

}  // namespace moediff
