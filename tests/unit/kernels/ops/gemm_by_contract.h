// The dot products of kernels/abi/moediff_abi.h, product by product in the order written there, for the tests alone.
// Operands are made of random codes, so that every bit of the result is the contract's.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/unit/kernels/ops/device.h"

namespace moediff::test {

/// One matrix product: a [tokens, k] and weights [experts, n, k], what they are stored as, and their numbers.
struct QuantisedGemm {
  int scheme;      ///< MD_SCHEME_NONE...
  md_dtype model;  ///< MD_F32, MD_BF16 or MD_F16
  md_dtype fp8;    ///< which one
  std::int64_t tokens, k, experts, n, group;
  bool halves;

  std::vector<float> a, weights;     ///< numbers of the codes
  std::vector<float> a_scales;       ///< [tokens or 1, blocks of k or 1]
  std::vector<float> weight_scales;  ///< [experts, scale_rows, scale_columns]
  std::int64_t scale_rows, scale_columns;
  md_tensor a_tensor, weight_tensor, a_scale_tensor, weight_scale_tensor;

  /// Partial sum of one range for `token` and row `n` of `expert`, finished with `weight` (1: none given).
  float range_sum(std::int64_t token, std::int64_t expert, std::int64_t row, std::int64_t begin, std::int64_t end,
                  const float* weight) const;
  /// All ranges added in order and rounded to the model dtype, as bits.
  std::uint32_t element(std::int64_t token, std::int64_t expert, std::int64_t row, int splits,
                        const float* weight) const;
};

/// Random operands, uploaded. `weights_rank` 2: dense, one expert.
QuantisedGemm make_gemm(Device& device, QuantisedGemm shape, int weights_rank, std::uint64_t seed);
md_params params_of(const QuantisedGemm& gemm, int splits = 1);
/// Elements of f32, bf16 or f16 as bits.
std::vector<std::uint32_t> model_bits(const Device& device, const md_tensor& tensor);

}  // namespace moediff::test
