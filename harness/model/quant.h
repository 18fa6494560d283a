// Quantisation of expert weights and activations: one row a scheme, and the policies in which implementations of one
// scheme differ. Sources: vLLM fused_moe.py, csrc/quantization,
// quantization/utils/{fp8_utils,w8a8_utils,int8_utils}.py; deepseek-ai/DeepSeek-V3 inference/kernel.py; ROCm/aiter
// csrc/kernels/quant_kernels.cu; compressed-tensors pack_quantized; OCP Microscaling Formats (MX) v1.0.
//
// A quantised matrix is codes [n, k] with scales [sn, sk]: value(n, k) = code * scale(n, k). Which scale belongs to an
// element follows from the granularity:
//   tensor   [1, 1]
//   channel  [n, 1]
//   block    [blocks of n, ceil(k / block)]; where rows are gate, then up halves (w13), each half is cut into blocks of
//            its own: row r of half h has block row h * ceil(half / block) + (r - h * half) / block
//   group    [n, ceil(k / group)]
// Activations: codes [rows, k], scales [rows, ceil(k / group)] (token_group), [rows, 1] (token) or [1, 1] (tensor).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "harness/core/dtype.h"

namespace moediff {

enum class QuantScheme : std::uint8_t { none, fp8_block, fp8_tensor, fp8_channel, int8_channel, int4_group, mxfp4 };

enum class WeightScales : std::uint8_t { none, tensor, channel, block, group };
enum class ActivationScales : std::uint8_t { none, tensor, token, token_group };
enum class CodeFormat : std::uint8_t { none, fp8, int8, int4, fp4 };

struct QuantRow {
  QuantScheme scheme;
  std::string_view name;
  CodeFormat weight;            ///< fp8: e4m3fn or e4m3fnuz (QuantSpec); int4: nibble = value + 8; fp4: e2m1
  WeightScales weight_scales;   ///< dtype: f32; int4_group the model dtype; mxfp4 f8_e8m0
  ActivationScales activation;  ///< none: activations stay in the model dtype and weights are dequantised, rounded
                                ///< to the model dtype, before the product
  std::string_view meaning;
};

inline constexpr std::array<QuantRow, 7> kQuantSchemes{{
    {QuantScheme::none, "none", CodeFormat::none, WeightScales::none, ActivationScales::none, "model dtype throughout"},
    {QuantScheme::fp8_block, "fp8_block", CodeFormat::fp8, WeightScales::block, ActivationScales::token_group,
     "DeepSeek-V3: weight blocks of group x group, activation groups of `group` a token"},
    {QuantScheme::fp8_tensor, "fp8_tensor", CodeFormat::fp8, WeightScales::tensor, ActivationScales::tensor,
     "one scale an expert's matrix, one dynamic scale for all activations"},
    {QuantScheme::fp8_channel, "fp8_channel", CodeFormat::fp8, WeightScales::channel, ActivationScales::token,
     "Llama-4 FP8-dynamic: one scale a weight row, one dynamic scale a token"},
    {QuantScheme::int8_channel, "int8_channel", CodeFormat::int8, WeightScales::channel, ActivationScales::token,
     "w8a8: one scale a weight row, one dynamic scale a token, symmetric; weight_offset is carried and not used"},
    {QuantScheme::int4_group, "int4_group", CodeFormat::int4, WeightScales::group, ActivationScales::none,
     "w4a16 (Kimi-K2-Thinking): groups of `group` along k"},
    {QuantScheme::mxfp4, "mxfp4", CodeFormat::fp4, WeightScales::group, ActivationScales::none,
     "OCP MX: groups of 32 along k, power-of-two scales"},
}};
constexpr const QuantRow& row(QuantScheme scheme) { return kQuantSchemes[static_cast<std::size_t>(scheme)]; }
constexpr std::string_view to_string(QuantScheme scheme) { return row(scheme).name; }

/// mxfp4: elements that share a scale.
inline constexpr std::int64_t kMxGroup = 32;

/// e4m3fnuz: the checkpoint's e4m3fn bytes are normalised at load (0x80 becomes 0x00, scales are doubled).
enum class Fp8Kind : std::uint8_t { e4m3fn, e4m3fnuz };
inline constexpr std::array<std::string_view, 2> kFp8KindNames{"e4m3fn", "e4m3fnuz"};
/// ue8m0: activation and block weight scales are rounded up to a power of two (still stored as f32).
enum class ScaleKind : std::uint8_t { fp32, ue8m0 };
inline constexpr std::array<std::string_view, 2> kScaleKindNames{"fp32", "ue8m0"};
/// How a code comes from x, in fp32: x / s; x * (1 / s); x * (fmax / amax).
enum class ScaleBy : std::uint8_t { division, reciprocal, ratio };
inline constexpr std::array<std::string_view, 3> kScaleByNames{"division", "reciprocal", "ratio"};
/// How a scale comes from the largest magnitude, in fp32: amax / fmax; amax * (1 / fmax) (AITER).
enum class ScaleFrom : std::uint8_t { division, reciprocal };
inline constexpr std::array<std::string_view, 2> kScaleFromNames{"division", "reciprocal"};
/// int8 codes: halves to the even neighbour, or away from zero (vLLM's Triton kernel).
enum class HalfTo : std::uint8_t { even, away };
inline constexpr std::array<std::string_view, 2> kHalfToNames{"even", "away"};
/// Sizes that are no multiple of the block: the last block is short (DeepSeek's code pads), or refused (vLLM).
enum class Ragged : std::uint8_t { pad, reject };
inline constexpr std::array<std::string_view, 2> kRaggedNames{"pad", "reject"};
/// Weights of the shared experts: quantised as the routed ones, or kept in the model dtype (Kimi-K2-Thinking).
enum class SharedWeights : std::uint8_t { same, model };
inline constexpr std::array<std::string_view, 2> kSharedWeightsNames{"same", "model"};
/// quantize_a2: an op of its own, or fused with the activation (no rounding to the model dtype between).
enum class QuantizeA2 : std::uint8_t { separate, fused };
inline constexpr std::array<std::string_view, 2> kQuantizeA2Names{"separate", "fused"};

struct QuantSpec {
  QuantScheme scheme = QuantScheme::none;
  Fp8Kind fp8 = Fp8Kind::e4m3fn;
  ScaleKind scales = ScaleKind::fp32;
  std::int64_t group = 128;   ///< fp8_block: block and group size; int4_group: group size
  double fmax = 0;            ///< what the largest magnitude is mapped to; 0: the format's maximum (448, 240, 127)
  double amax_floor = 1e-10;  ///< least magnitude a scale is made from (DeepSeek 1e-4, vLLM 1e-10)
  ScaleFrom scale_from = ScaleFrom::division;
  ScaleBy scale_by = ScaleBy::division;
  HalfTo half_to = HalfTo::even;
  Ragged ragged = Ragged::pad;
  SharedWeights shared = SharedWeights::same;
  QuantizeA2 quantize_a2 = QuantizeA2::separate;
  bool operator==(const QuantSpec&) const = default;

  constexpr DType fp8_dtype() const { return fp8 == Fp8Kind::e4m3fn ? DType::f8_e4m3fn : DType::f8_e4m3fnuz; }
};

}  // namespace moediff
