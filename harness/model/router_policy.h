// How a router scores and weighs experts: the ways in which the implementations of one and the same formula differ.
// Each field is a policy that both the reference and a candidate can take, so that a real implementation can be
// modelled exactly. Sources: vLLM grouped_topk (fused_moe.py) and csrc/moe/grouped_topk_kernels.cu, AITER
// csrc/kernels/topk_softmax_kernels_group.cu, deepseek-ai/DeepSeek-V3 inference/model.py (Gate), Hugging Face
// modeling_deepseek_v3.py, vllm-ascend experts_selector.py, vLLM llama4.py.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace moediff {

/// sigmoid: score of each logit alone. softmax: over all experts.
enum class Scoring : std::uint8_t { sigmoid, softmax };
inline constexpr std::array<std::string_view, 2> kScoringNames{"sigmoid", "softmax"};

/// Score of a group: sum of its two largest choice scores, or the largest.
enum class GroupScore : std::uint8_t { top2_sum, max };
inline constexpr std::array<std::string_view, 2> kGroupScoreNames{"top2_sum", "max"};

/// What the choice score of an expert outside the chosen groups is set to.
enum class MaskValue : std::uint8_t { neg_inf, zero };
inline constexpr std::array<std::string_view, 2> kMaskValueNames{"neg_inf", "zero"};

/// The precision in which a quantity is kept: fp32, or the model dtype.
enum class KeptIn : std::uint8_t { fp32, model };
inline constexpr std::array<std::string_view, 2> kKeptInNames{"fp32", "model"};

/// Where the weight of a chosen expert comes from: the score as kept; the score evaluated again in fp32 (differs only
/// where scores are kept in the model dtype); (score + bias) - bias in fp32, with its cancellation (AITER).
enum class WeightSource : std::uint8_t { score, fresh_score, choice_minus_bias };
inline constexpr std::array<std::string_view, 3> kWeightSourceNames{"score", "fresh_score", "choice_minus_bias"};

/// Who multiplies by routed_scaling_factor: the op after the experts (scale_add), or the router, into the weights.
enum class FactorPlace : std::uint8_t { output, router };
inline constexpr std::array<std::string_view, 2> kFactorPlaceNames{"output", "router"};

/// Where the routing weight is applied. combine: to gemm2's rounded result; gemm2: to gemm2's fp32 accumulator; gemm1:
/// to gemm1's fp32 accumulator (Llama-4 on Triton: both halves, so not linear in the weight); input: round(x *
/// round(w)) before gemm1 (prepare-based kernels; top-1 only).
enum class WeightPlace : std::uint8_t { combine, gemm2, gemm1, input };
inline constexpr std::array<std::string_view, 4> kWeightPlaceNames{"combine", "gemm2", "gemm1", "input"};

/// Rows with NaN or infinite logits. lowest: a choice that is NaN counts as -inf, and ids fill up from the lowest.
/// uniform: if fewer than top_k choices are finite, ids 0..k-1 with weights 1/k (vLLM's CUDA kernel).
enum class NotFinite : std::uint8_t { lowest, uniform };
inline constexpr std::array<std::string_view, 2> kNotFiniteNames{"lowest", "uniform"};

struct RouterPolicy {
  Scoring scoring = Scoring::sigmoid;
  bool bias = true;  ///< e_score_correction_bias: added for the choice, not part of the weight
  GroupScore group_score = GroupScore::top2_sum;
  MaskValue mask = MaskValue::neg_inf;
  KeptIn logits_in = KeptIn::fp32;   ///< dtype of the router_logits tensor
  KeptIn scores_in = KeptIn::fp32;   ///< the score is rounded
  KeptIn bias_in = KeptIn::fp32;     ///< the bias is rounded before it is added
  KeptIn choice_in = KeptIn::fp32;   ///< score + bias is rounded
  KeptIn weights_in = KeptIn::fp32;  ///< the finished weight is rounded
  WeightSource weight_from = WeightSource::score;
  double norm_epsilon = 0;  ///< added to the sum that weights are divided by (Hugging Face: 1e-20)
  FactorPlace factor = FactorPlace::output;
  WeightPlace weight_on = WeightPlace::combine;
  NotFinite not_finite = NotFinite::lowest;
  bool operator==(const RouterPolicy&) const = default;
};

}  // namespace moediff
