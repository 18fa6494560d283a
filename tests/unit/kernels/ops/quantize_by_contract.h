// Quantisation as kernels/abi/moediff_abi.h writes it, step by step in fp32, for the tests alone.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/unit/kernels/ops/device.h"

namespace moediff::test {

struct Quantised {
  std::vector<std::uint8_t> codes;  ///< of 8-bit floats or int8, [rows, columns]
  std::vector<float> scales;
};

/// By the scheme and policies of `params`, codes in `format`.
Quantised quantise(const std::vector<float>& x, std::int64_t rows, std::int64_t columns, md_dtype format,
                   const md_params& params);

/// Of a scheme, with the format's own maximum and vLLM's floor; every policy the first of its kind.
md_params quantise_params(int scheme, md_dtype format, std::int64_t group);
/// [rows, groups], [rows, 1] or [1, 1].
std::vector<std::int64_t> scales_shape(std::int64_t rows, std::int64_t columns, const md_params& params);
/// Runs `op` (MD_OP_QUANTIZE_A1 or MD_OP_ACTIVATION_QUANTIZE) and reads what it wrote, [rows, columns].
Quantised run_quantise(Device& device, md_op op, const md_tensor& in, std::int64_t rows, std::int64_t columns,
                       md_dtype format, const md_params& params);

}  // namespace moediff::test
