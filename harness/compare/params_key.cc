#include "harness/compare/params_key.h"

#include <bit>

namespace moediff {
namespace {

template <typename... Number>
void add_numbers(Hasher& hasher, Number... numbers) {
  (hasher.add(static_cast<std::int64_t>(numbers)), ...);
}

template <typename... Real>
void add_reals(Hasher& hasher, Real... reals) {
  (hasher.add(std::bit_cast<std::int64_t>(reals)), ...);
}

void add_policies(Hasher& hasher, const OpParams& p) {
  const RouterPolicy& r = p.router;
  add_numbers(hasher, r.scoring, r.bias, r.group_score, r.mask, r.logits_in, r.scores_in, r.bias_in, r.choice_in,
              r.weights_in, r.weight_from, r.factor, r.weight_on, r.not_finite);
  const ExpertPolicy& e = p.expert;
  add_numbers(hasher, e.activation, e.activation_rounding, e.sum);
  const QuantSpec& q = p.quant;
  add_numbers(hasher, q.scheme, q.fp8, q.scales, q.group, q.scale_from, q.scale_by, q.half_to);
  add_reals(hasher, r.norm_epsilon, e.limit, q.fmax, q.amax_floor);
}

}  // namespace

void add_call(Hasher& hasher, const Step& step) {
  const OpParams& p = step.params;
  add_numbers(hasher, step.op, p.top_k, p.n_group, p.topk_group, p.norm_topk_prob, p.split_k, p.halves, p.saturate,
              p.field_factor);
  add_reals(hasher, p.factor);
  add_policies(hasher, p);
  for (const Operand& operand : step.operands) {
    add_numbers(hasher, operand.buffer >= 0, operand.dtype, operand.shape.size());
    for (const std::int64_t extent : operand.shape) hasher.add(extent);
  }
}

}  // namespace moediff
