#include "tests/unit/kernels/ops/quantize_by_contract.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/kernels/ops/formats_by_definition.h"

namespace moediff::test {
namespace {

/// Largest magnitude; NaN if there is a NaN.
float largest_magnitude(const std::vector<float>& x) {
  float largest = 0;
  for (const float v : x) {
    if (std::isnan(v)) return v;
    largest = std::max(largest, std::abs(v));
  }
  return largest;
}

float scale_of(float amax, const md_params& p) {
  float s = p.scale_from == MD_SCALE_FROM_DIVISION ? amax / p.fmax : amax * (1 / p.fmax);
  if (p.scale_kind == MD_SCALES_UE8M0 && s > 0 && std::isfinite(s)) {
    int exponent = 0;
    const double half_to_one = std::frexp(s, &exponent);  // s = half_to_one * 2^exponent, half_to_one in [1/2, 1)
    s = static_cast<float>(std::ldexp(1.0, half_to_one == 0.5 ? exponent - 1 : exponent));
  }
  return s;
}

std::uint8_t code_of(float x, float s, float amax, md_dtype format, const md_params& p) {
  if (s == 0) return 0;
  float y = x / s;
  if (p.scale_by == MD_SCALE_BY_RECIPROCAL) y = x * (1 / s);
  if (p.scale_by == MD_SCALE_BY_RATIO) y = x * (p.fmax / amax);
  if (y > p.fmax) y = p.fmax;
  if (y < -p.fmax) y = -p.fmax;
  if (format != MD_I8) return static_cast<std::uint8_t>(nearest_code(format, y));
  const double integer = p.half_to == MD_HALF_AWAY ? std::round(y) : std::nearbyint(y);
  return static_cast<std::uint8_t>(std::isnan(integer) ? 0 : static_cast<int>(integer));
}

}  // namespace

md_params quantise_params(int scheme, md_dtype format, std::int64_t group) {
  md_params p{};
  p.scheme = scheme;
  p.group = group;
  p.fmax = format == MD_F8_E4M3FN ? 448.0f : format == MD_F8_E4M3FNUZ ? 240.0f : 127.0f;
  p.amax_floor = 1e-10f;
  return p;
}

std::vector<std::int64_t> scales_shape(std::int64_t rows, std::int64_t columns, const md_params& params) {
  if (params.scheme == MD_SCHEME_FP8_TENSOR) return {1, 1};
  if (params.scheme == MD_SCHEME_FP8_BLOCK) return {rows, (columns + params.group - 1) / params.group};
  return {rows, 1};
}

Quantised quantise(const std::vector<float>& x, std::int64_t rows, std::int64_t columns, md_dtype format,
                   const md_params& params) {
  const std::vector<std::int64_t> shape = scales_shape(rows, columns, params);
  const std::int64_t group = params.scheme == MD_SCHEME_FP8_BLOCK ? params.group : std::max<std::int64_t>(columns, 1);
  const auto scale_index = [&](std::int64_t i) {
    return shape[0] == 1 && params.scheme == MD_SCHEME_FP8_TENSOR ? 0 : i / columns * shape[1] + i % columns / group;
  };
  std::vector<std::vector<float>> members(static_cast<std::size_t>(shape[0] * shape[1]));
  for (std::int64_t i = 0; i < rows * columns; ++i) members[scale_index(i)].push_back(x[i]);
  std::vector<float> amax;
  Quantised out;
  for (const std::vector<float>& group_members : members) {
    const float largest = largest_magnitude(group_members);
    amax.push_back(std::isnan(largest) ? largest : std::max(largest, params.amax_floor));
    out.scales.push_back(scale_of(amax.back(), params));
  }
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t s = scale_index(i);
    out.codes.push_back(code_of(x[i], out.scales[s], amax[s], format, params));
  }
  return out;
}

Quantised run_quantise(Device& device, md_op op, const md_tensor& in, std::int64_t rows, std::int64_t columns,
                       md_dtype format, const md_params& params) {
  const md_tensor codes = device.blank({rows, columns}, format);
  const md_tensor scales = device.blank(scales_shape(rows, columns, params), MD_F32);
  device.run(op, {in, codes, scales}, params);
  return {device.read_as<std::uint8_t>(codes), device.read_as<float>(scales)};
}

}  // namespace moediff::test
