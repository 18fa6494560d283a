#include "tests/unit/kernels/ops/gemm_by_contract.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "tests/unit/kernels/ops/formats_by_definition.h"

namespace moediff::test {
namespace {

using Random = std::mt19937_64;

std::int64_t blocks_of(std::int64_t size, std::int64_t group) { return (size + group - 1) / group; }

bool packed(int scheme) { return scheme == MD_SCHEME_INT4_GROUP || scheme == MD_SCHEME_MXFP4; }
std::int64_t group_of(const QuantisedGemm& g) { return g.scheme == MD_SCHEME_MXFP4 ? 32 : g.group; }

md_dtype code_dtype(const QuantisedGemm& g) {
  return g.scheme == MD_SCHEME_INT8_CHANNEL ? MD_I8 : g.scheme == MD_SCHEME_NONE || packed(g.scheme) ? g.model : g.fp8;
}

std::uint32_t random_code(md_dtype dtype, Random& random) {
  if (dtype == MD_I8 || dtype == MD_F8_E4M3FN || dtype == MD_F8_E4M3FNUZ) {
    std::uint32_t code = static_cast<std::uint32_t>(random() % 256);
    while (std::isnan(value_of(dtype, code))) code = static_cast<std::uint32_t>(random() % 256);
    return code;
  }
  std::normal_distribution<float> normal;
  const float x = normal(random);
  return dtype == MD_F32 ? std::bit_cast<std::uint32_t>(x) : nearest_code(dtype, x);
}

float number_of(md_dtype dtype, std::uint32_t code) {
  return dtype == MD_F32 ? std::bit_cast<float>(code) : static_cast<float>(value_of(dtype, code));
}

/// `shape` elements of random codes, uploaded, and their numbers.
md_tensor random_elements(Device& device, const std::vector<std::int64_t>& shape, md_dtype dtype, Random& random,
                          std::vector<float>& numbers) {
  std::vector<std::uint8_t> bytes;
  const int size = dtype == MD_F32 ? 4 : dtype == MD_BF16 || dtype == MD_F16 ? 2 : 1;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const std::uint32_t code = random_code(dtype, random);
    numbers.push_back(number_of(dtype, code));
    for (int b = 0; b < size; ++b) bytes.push_back(static_cast<std::uint8_t>(code >> 8 * b));
  }
  return device.upload_bytes(shape, dtype, bytes.data());
}

/// Rows of 4-bit codes, two a byte, the even element low.
md_tensor random_nibbles(Device& device, std::vector<std::int64_t> shape, int scheme, Random& random,
                         std::vector<float>& numbers) {
  const std::int64_t k = shape.back(), rows = element_count(shape) / k, row_bytes = (k + 1) / 2;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows * row_bytes));
  for (std::int64_t i = 0; i < rows * k; ++i) {
    const int nibble = static_cast<int>(random() % 16);
    bytes[i / k * row_bytes + i % k / 2] |= static_cast<std::uint8_t>(i % k % 2 == 0 ? nibble : nibble * 16);
    const float e2m1 = nibble < 8 ? kE2M1[nibble] : -kE2M1[nibble - 8];
    numbers.push_back(scheme == MD_SCHEME_INT4_GROUP ? static_cast<float>(nibble - 8) : e2m1);
  }
  shape.back() = row_bytes;
  return device.upload_bytes(shape, MD_U8, bytes.data());
}

/// Positive scales between 2^-6 and 2^2: any fp32 number, one of the model dtype, or powers of two for MXFP4.
md_tensor random_scales(Device& device, const std::vector<std::int64_t>& shape, md_dtype dtype, Random& random,
                        std::vector<float>& numbers) {
  std::uniform_real_distribution<float> exponent(-6, 2);
  std::vector<std::uint8_t> bytes;
  const int size = dtype == MD_F32 ? 4 : dtype == MD_F8_E8M0 ? 1 : 2;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const float x = std::exp2(exponent(random));
    std::uint32_t code = std::bit_cast<std::uint32_t>(x);
    if (dtype == MD_F8_E8M0) code = 121 + static_cast<std::uint32_t>(random() % 9);
    if (dtype == MD_BF16 || dtype == MD_F16) code = nearest_code(dtype, x);
    numbers.push_back(number_of(dtype, code));
    for (int b = 0; b < size; ++b) bytes.push_back(static_cast<std::uint8_t>(code >> 8 * b));
  }
  return device.upload_bytes(shape, dtype, bytes.data());
}

struct ScaleShape {
  std::int64_t a_rows, a_columns, rows, columns;
};
ScaleShape scale_shape(const QuantisedGemm& g) {
  const std::int64_t columns = blocks_of(g.k, group_of(g));
  switch (g.scheme) {
    case MD_SCHEME_FP8_BLOCK:
      return {g.tokens, columns, g.halves ? 2 * blocks_of(g.n / 2, g.group) : blocks_of(g.n, g.group), columns};
    case MD_SCHEME_FP8_TENSOR:
      return {1, 1, 1, 1};
    case MD_SCHEME_INT4_GROUP:
    case MD_SCHEME_MXFP4:
      return {0, 0, g.n, columns};
    default:
      return {g.tokens, 1, g.n, 1};
  }
}

}  // namespace

QuantisedGemm make_gemm(Device& device, QuantisedGemm g, int weights_rank, std::uint64_t seed) {
  Random random(seed);
  const auto stacked = [&](std::int64_t rows, std::int64_t columns) {
    return weights_rank == 3 ? std::vector<std::int64_t>{g.experts, rows, columns}
                             : std::vector<std::int64_t>{rows, columns};
  };
  g.a_tensor = random_elements(device, {g.tokens, g.k}, code_dtype(g), random, g.a);
  g.weight_tensor = packed(g.scheme) ? random_nibbles(device, stacked(g.n, g.k), g.scheme, random, g.weights)
                                     : random_elements(device, stacked(g.n, g.k), code_dtype(g), random, g.weights);
  g.a_scale_tensor = g.weight_scale_tensor = absent();
  if (g.scheme == MD_SCHEME_NONE) return g;
  const ScaleShape s = scale_shape(g);
  g.scale_rows = s.rows;
  g.scale_columns = s.columns;
  const md_dtype dtype = g.scheme == MD_SCHEME_MXFP4 ? MD_F8_E8M0 : g.scheme == MD_SCHEME_INT4_GROUP ? g.model : MD_F32;
  g.weight_scale_tensor = random_scales(device, stacked(s.rows, s.columns), dtype, random, g.weight_scales);
  if (s.a_columns > 0) g.a_scale_tensor = random_scales(device, {s.a_rows, s.a_columns}, MD_F32, random, g.a_scales);
  return g;
}

float QuantisedGemm::range_sum(std::int64_t token, std::int64_t expert, std::int64_t row, std::int64_t begin,
                               std::int64_t end, const float* weight) const {
  const float* x = &a[token * k];
  const float* w = &weights[(expert * n + row) * k];
  const float* scales = weight_scales.data() + expert * scale_rows * scale_columns;
  const std::int64_t block = scheme == MD_SCHEME_MXFP4 ? 32 : group;
  const float weight_or_one = weight != nullptr ? *weight : 1.0f;  // times 1 is exact
  float sum = 0;
  std::int64_t exact = 0;
  switch (scheme) {
    case MD_SCHEME_NONE:
      for (std::int64_t i = begin; i < end; ++i) sum = std::fma(x[i], w[i], sum);
      return sum * weight_or_one;
    case MD_SCHEME_INT4_GROUP:
    case MD_SCHEME_MXFP4:
      for (std::int64_t i = begin; i < end; ++i) {
        const float scaled = w[i] * scales[row * scale_columns + i / block];
        sum = std::fma(x[i], nearest_value(model, scaled), sum);
      }
      return sum * weight_or_one;
    case MD_SCHEME_FP8_BLOCK: {
      const std::int64_t half = n / 2, h = halves && row >= half ? 1 : 0;
      const std::int64_t scale_row = h * blocks_of(half, block) + (row - h * half) / block;
      for (std::int64_t first = begin; first < end; first += block) {
        float dot = 0;
        for (std::int64_t i = first; i < std::min(first + block, end); ++i) dot = std::fma(x[i], w[i], dot);
        const float by_a = dot * a_scales[token * scale_columns + first / block];
        const float by_both = by_a * scales[scale_row * scale_columns + first / block];
        sum = sum + by_both;
      }
      return sum * weight_or_one;
    }
    case MD_SCHEME_INT8_CHANNEL:
      for (std::int64_t i = begin; i < end; ++i)
        exact += static_cast<std::int64_t>(x[i]) * static_cast<std::int64_t>(w[i]);
      sum = static_cast<float>(exact);
      break;
    default:
      for (std::int64_t i = begin; i < end; ++i) sum = std::fma(x[i], w[i], sum);
  }
  const bool one = scheme == MD_SCHEME_FP8_TENSOR;
  const float weighted = sum * weight_or_one, by_a = weighted * a_scales[one ? 0 : token];
  return by_a * scales[one ? 0 : row];
}

std::uint32_t QuantisedGemm::element(std::int64_t token, std::int64_t expert, std::int64_t row, int splits,
                                     const float* weight) const {
  std::int64_t range = blocks_of(k, splits);
  if (scheme == MD_SCHEME_FP8_BLOCK) range = blocks_of(range, group) * group;
  float sum = 0;
  for (int s = 0; s < splits; ++s) {
    const std::int64_t begin = s * range, end = std::min(begin + range, k);
    const float part = range_sum(token, expert, row, begin, end, weight);
    sum = s == 0 ? part : sum + part;
  }
  return model == MD_F32 ? std::bit_cast<std::uint32_t>(sum) : nearest_code(model, sum);
}

md_params params_of(const QuantisedGemm& gemm, int splits) {
  md_params params{};
  params.scheme = gemm.scheme;
  params.group = gemm.group;
  params.halves = gemm.halves ? 1 : 0;
  params.split_k = splits;
  return params;
}

std::vector<std::uint32_t> model_bits(const Device& device, const md_tensor& tensor) {
  if (tensor.dtype == MD_F32) return device.read_as<std::uint32_t>(tensor);
  const std::vector<std::uint16_t> bits = device.read_as<std::uint16_t>(tensor);
  return {bits.begin(), bits.end()};
}

}  // namespace moediff::test
