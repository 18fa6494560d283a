#include "harness/scenario/applicability.h"

#include <array>
#include <map>
#include <optional>
#include <string>

#include "harness/scenario/canonical.h"

namespace moediff {
namespace {

std::optional<std::string> no_shared_experts(const Case& spec) {
  if (spec.shape.n_shared > 0 || spec.stream == StreamMode::none) return std::nullopt;
  return "stream: " + std::string(to_string(spec.stream)) + " places shared experts, and the model has none";
}

std::optional<std::string> order_means_nothing(const Case& spec) {
  if (spec.shape.n_shared == 0) return "order has no effect without shared experts";
  if (spec.stream == StreamMode::fused) return "order has no effect when the shared experts are fused";
  return std::nullopt;
}

/// Elements along k that share a weight scale; 1 where none do.
std::int64_t scale_block(const QuantSpec& quant) {
  const WeightScales scales = row(quant.scheme).weight_scales;
  if (scales != WeightScales::block && scales != WeightScales::group) return 1;
  return quant.scheme == QuantScheme::mxfp4 ? kMxGroup : quant.group;
}

/// Fused shared experts are further experts of the same tensors and the same kernels.
std::optional<std::string> cannot_be_fused(const Case& spec) {
  if (spec.effective_stream != StreamMode::fused) return std::nullopt;
  const QuantSpec& q = spec.quant;
  if (q.scheme != QuantScheme::none && q.shared == SharedWeights::model)
    return "fused shared experts need the number format of the routed ones (quant.shared: model; vllm#28985)";
  const std::int64_t block = scale_block(q);
  const bool packed = row(q.scheme).activation == ActivationScales::none && q.scheme != QuantScheme::none;
  if (spec.shape.n_shared > 1 && (spec.shape.inter % block != 0 || (packed && spec.shape.inter % 2 != 0)))
    return "a shared expert does not end at a scale block (model.inter, quant.group), so it cannot be cut out";
  if (spec.router.weight_on == WeightPlace::input)
    return "the shared experts need the input without a weight (router.weight_on: input)";
  // The fused router applies the factor to the weights; before the activation that is another function.
  const bool before_activation = spec.router.weight_on == WeightPlace::gemm1;
  if (before_activation && spec.router.factor == FactorPlace::output && spec.shape.routed_scaling_factor != 1)
    return "fused, the factor is applied with the weight, which here comes before the activation (router.weight_on: gemm1)";
  return std::nullopt;
}

std::optional<std::string> ragged_is_rejected(const Case& spec) {
  const QuantSpec& q = spec.quant;
  if (q.ragged == Ragged::pad) return std::nullopt;
  const std::int64_t block = scale_block(q);
  if (spec.shape.hidden % block == 0 && spec.shape.inter % block == 0) return std::nullopt;
  return "hidden or inter is no multiple of the block of " + std::to_string(block) + " (quant.ragged: reject)";
}

/// The scale of a whole tensor depends on the whole batch, so a change of the batch changes every token.
std::optional<std::string> variation_changes_the_scale(const Case& spec) {
  const bool batch = spec.variation == Variation::split || batch_rows(spec) > spec.tokens;
  if (!batch || row(spec.quant.scheme).activation != ActivationScales::tensor) return std::nullopt;
  return "the activations' one scale depends on the whole batch (quant.scheme: fp8_tensor)";
}

constexpr std::array kReasons{no_shared_experts, cannot_be_fused, ragged_is_rejected, variation_changes_the_scale};

std::optional<std::string> means_nothing(const Case& spec) {
  for (const auto reason : kReasons) {
    if (auto text = reason(spec)) return text;
  }
  return std::nullopt;
}

}  // namespace

void mark_inapplicable(std::vector<Case>& cases) {
  std::map<std::string, std::string> standing;  // what a case is but for its order -> id of the first such case
  for (Case& spec : cases) {
    if (auto reason = means_nothing(spec)) {
      spec.skip_reason = std::move(reason);
      continue;
    }
    const auto reason = order_means_nothing(spec);
    if (!reason) continue;
    Case any_order = spec;
    any_order.order = IssueOrder::shared_first;
    const auto [first, fresh] = standing.emplace(canonical_body(any_order), spec.id);
    if (!fresh) spec.skip_reason = *reason + "; " + first->second + " stands for both";
  }
}

}  // namespace moediff
