// What the experts compute besides their two matrix products. Sources: vLLM csrc/activation_kernels.cu (silu_and_mul,
// gelu_and_mul, gelu_tanh_and_mul, swigluoai_and_mul), csrc/moe/moe_align_sum_kernels.cu (moe_sum), ROCm/aiter
// fused_moe.py (one rounding in stage 1).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace moediff {

/// silu(g) u; gelu(g) u with erf, or with tanh; silu(min(g, limit)) clamp(u, +-limit); and gpt-oss:
/// g' sigmoid(1.702 g') (u' + 1) with g' = min(g, limit), u' = clamp(u, +-limit).
enum class ActivationKind : std::uint8_t { silu, gelu, gelu_tanh, swiglu_clamped, swigluoai };
inline constexpr std::array<std::string_view, 5> kActivationNames{"silu", "gelu", "gelu_tanh", "swiglu_clamped",
                                                                  "swigluoai"};

/// twice: the activated gate is rounded to the model dtype, then the product (vLLM); once: the product only (AITER).
/// gpt-oss's is always rounded once.
enum class ActivationRounding : std::uint8_t { twice, once };
inline constexpr std::array<std::string_view, 2> kActivationRoundingNames{"twice", "once"};

/// fp32: a token's slots are added in fp32 in ascending order, rounded once. moe_sum: for 2, 3 or 4 slots the
/// accumulator is kept in the model dtype and every product and sum is rounded; otherwise as fp32 (vLLM's moe_sum).
enum class CombineSum : std::uint8_t { fp32, moe_sum };
inline constexpr std::array<std::string_view, 2> kCombineSumNames{"fp32", "moe_sum"};

struct ExpertPolicy {
  ActivationKind activation = ActivationKind::silu;
  ActivationRounding activation_rounding = ActivationRounding::twice;
  double limit = 7.0;  ///< of swiglu_clamped and swigluoai
  CombineSum sum = CombineSum::fp32;
  bool operator==(const ExpertPolicy&) const = default;
};

}  // namespace moediff
