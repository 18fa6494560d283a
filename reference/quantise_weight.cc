// Weights as checkpoints store them: a scale from the largest magnitude of the elements that share it, then the codes.
// fp8 and int8 in fp32 steps (vLLM per_block_cast_to_fp8, DeepSeek fp8_cast); int4 as compressed-tensors does,
// symmetric: scale = amax / 7.5, code = clamp(round(w / scale), -8, 7); mxfp4 by OCP MX v1.0, section 6.3.
#include <algorithm>
#include <cmath>

#include "reference/api.h"
#include "reference/formats.h"
#include "reference/fp32_steps.h"
#include "reference/packed.h"
#include "reference/require.h"
#include "reference/scales.h"
#include "reference/weight_codes.h"

namespace moediff::reference {
namespace {

constexpr float kLargestE4m3fn = 448, kLargestInt8 = 127;
constexpr double kInt4HalfRange = 7.5;
constexpr int kE2m1LargestExponent = 2, kE8m0LargestExponent = 127;

struct Job {
  const QuantSpec& spec;
  CodeFormat format;
  DType model;
  /// The checkpoint's largest code, whatever the activations' fmax is.
  float fmax() const { return format == CodeFormat::fp8 ? kLargestE4m3fn : kLargestInt8; }
};

double mx_scale(double amax) {
  const int exponent = amax > 0 ? std::ilogb(amax) - kE2m1LargestExponent : -kE8m0LargestExponent;
  return std::ldexp(1.0, std::clamp(exponent, -kE8m0LargestExponent, kE8m0LargestExponent));
}

double scale_of(const Job& job, double amax) {
  if (job.format == CodeFormat::fp4) return mx_scale(amax);
  if (job.format == CodeFormat::int4) return round_to(job.model, amax / kInt4HalfRange);
  const bool block = row(job.spec.scheme).weight_scales == WeightScales::block;
  return scale_step(static_cast<float>(amax), job.fmax(), job.spec, block && job.spec.scales == ScaleKind::ue8m0);
}

unsigned code_of(const Job& job, double weight, double scale, double amax) {
  if (job.format == CodeFormat::fp4) return nearest_fp4(weight / scale);
  if (job.format == CodeFormat::int4) {
    const double quotient = scale == 0 ? 0.0 : std::nearbyint(weight / scale);
    return static_cast<unsigned>(std::clamp(quotient, -8.0, 7.0) + 8);
  }
  const float quotient = divide_step(static_cast<float>(weight), static_cast<float>(scale), static_cast<float>(amax),
                                     job.fmax(), job.spec);
  if (job.format == CodeFormat::fp8) return encode(DType::f8_e4m3fn, quotient);
  return static_cast<unsigned>(static_cast<int>(integer_step(quotient, job.spec.half_to))) & 0xFF;
}

std::vector<double> largest_of_scales(std::span<const double> weight, std::int64_t n, std::int64_t k,
                                      const WeightScaleMap& map) {
  std::vector<double> largest(static_cast<std::size_t>(map.sn() * map.sk()));
  for (std::int64_t i = 0; i < n * k; ++i) {
    double& so_far = largest[static_cast<std::size_t>(map(i / k, i % k))];
    so_far = std::max(so_far, std::fabs(weight[static_cast<std::size_t>(i)]));
  }
  return largest;
}

/// What loading an e4m3fn checkpoint for e4m3fnuz hardware does (vLLM normalize_e4m3fn_to_e4m3fnuz): the same bits mean
/// half the value, so scales are doubled; -0 would be NaN and becomes 0.
void normalise_to_fnuz(QuantisedWeight& weight) {
  std::replace(weight.codes.begin(), weight.codes.end(), std::byte{0x80}, std::byte{0});
  for (double& scale : weight.scales) scale *= 2;
}

}  // namespace

QuantisedWeight quantise_weight(std::span<const double> weight, std::int64_t n, std::int64_t k, const QuantSpec& spec,
                                bool halves, DType model) {
  const WeightScaleMap map(spec, n, k, halves);
  require(static_cast<std::int64_t>(weight.size()) == n * k, "a weight must be [n, k]");
  require(std::all_of(weight.begin(), weight.end(), [](double w) { return std::isfinite(w); }),
          "weights must be finite");
  const Job job{spec, row(spec.scheme).weight, model};
  const std::vector<double> amax = largest_of_scales(weight, n, k, map);
  QuantisedWeight out{{}, {}, map.sn(), map.sk()};
  for (const double a : amax) out.scales.push_back(scale_of(job, a));
  // An unused nibble at the end of a row of int4 is a 0 byte half, like padding in a checkpoint.
  out.codes.resize(static_cast<std::size_t>(n * row_bytes(job.format, k)));
  for (std::int64_t i = 0; i < n * k; ++i) {
    const auto group = static_cast<std::size_t>(map(i / k, i % k));
    const unsigned code = code_of(job, weight[static_cast<std::size_t>(i)], out.scales[group], amax[group]);
    store_code(job.format, out.codes, i / k, i % k, k, code);
  }
  if (job.format == CodeFormat::fp8 && spec.fp8 == Fp8Kind::e4m3fnuz) normalise_to_fnuz(out);
  return out;
}

}  // namespace moediff::reference
