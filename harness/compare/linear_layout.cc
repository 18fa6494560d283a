// One row an op for the slots, one case a scheme for the arithmetic.
#include "harness/compare/linear_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/weights.h"
#include "harness/core/check.h"

namespace moediff {
namespace {

struct LinearRow {
  OpKind op;
  LinearSlots slots;
};
constexpr std::array<LinearRow, 5> kProducts{{
    {OpKind::router, {"hidden_states", "gate_weight", "router_logits", "", "", ""}},
    {OpKind::gemm1, {"hidden_states", "w13", "gemm1_out", "a1_scales", "w13_scales", "topk_weights"}},
    {OpKind::gemm2, {"act_out", "w2", "gemm2_out", "a2_scales", "w2_scales", "topk_weights"}},
    {OpKind::shared_gemm1, {"hidden_states", "shared_w13", "shared_gemm1_out", "a1_scales", "w13_scales", ""}},
    {OpKind::shared_gemm2, {"shared_act_out", "shared_w2", "shared_out", "a2_scales", "w2_scales", ""}},
}};

bool weighs(const Step& step) { return is_present(step, linear_slots(step.op).row_weights); }

}  // namespace

const LinearSlots& linear_slots(OpKind op) {
  const auto found = std::find_if(kProducts.begin(), kProducts.end(), [&](const LinearRow& r) { return r.op == op; });
  CHECK(found != kProducts.end(), "the op is a product");
  return found->slots;
}

bool is_present(const Step& step, std::string_view slot) {
  const int index = slot.empty() ? -1 : slot_index(step.op, slot);
  return index >= 0 && index < static_cast<int>(step.operands.size()) &&
         step.operands[static_cast<std::size_t>(index)].buffer >= 0;
}

QuantSpec product_quant(const Step& step) {
  return is_present(step, linear_slots(step.op).weight_scales) ? step.params.quant : QuantSpec{};
}

reference::Accumulation accumulation(const Step& step) {
  const QuantSpec quant = product_quant(step);
  const int weight = weighs(step) ? 1 : 0;
  reference::Accumulation how;
  how.splits = step.params.split_k;
  how.range_roundings = weight;
  if (quant.scheme == QuantScheme::fp8_block) {
    how.block = quant.group;
    how.block_roundings = 2;
  } else if (scales_the_sum(quant.scheme)) {
    how.range_roundings += 2;
    how.integer = quant.scheme == QuantScheme::int8_channel;
  }
  return how;
}

double underflow(const Step& step, std::int64_t k, double sa, double sb, double w) {
  const QuantSpec quant = product_quant(step);
  const double weight = weighs(step) ? 1 : 0, splits = step.params.split_k, weighted = weight > 0 ? std::fabs(w) : 1;
  // Products of codes are multiples of 2^-20: only products with scales and weights come near zero.
  double roundings = 0;
  if (quant.scheme == QuantScheme::fp8_block) {
    const double blocks = static_cast<double>((k + quant.group - 1) / quant.group);
    roundings = (blocks + splits) * (sb + 1) * weighted + splits * weight;
  } else if (scales_the_sum(quant.scheme)) {
    roundings = splits * (weight * sa * sb + sb + 1);
  } else {
    roundings = static_cast<double>(k) * weighted + splits * weight;
  }
  return roundings * bounds::kTiny32;
}

}  // namespace moediff
