#include "tests/unit/compare/emulate.h"

#include <cmath>

namespace moediff::test {
namespace {

void dispatch(const Views& v) {
  const std::int64_t slots = v[0].extent(0) * v[0].extent(1);
  std::int32_t row = 0;
  for (std::int32_t e = 0; e + 1 < v[1].extent(0); ++e) {
    v[1].set_int(e, row);
    for (std::int32_t slot = 0; slot < slots; ++slot) {
      if (v[0].get_int(slot) != e) continue;
      v[2].set_int(row, slot);
      v[3].set_int(slot, row++);
    }
  }
  v[1].set_int(v[1].extent(0) - 1, row);
}

void activation(const ExpertPolicy& policy, const Views& v) {
  const std::int64_t inter = v[1].extent(1);
  const bool twice =
      policy.activation_rounding == ActivationRounding::twice && policy.activation != ActivationKind::swigluoai;
  for (std::int64_t i = 0; i < v[1].extent(0) * inter; ++i) {
    const std::int64_t gate = i / inter * 2 * inter + i % inter;
    v[1].set(i, gated_in_fp32(policy, twice, v[1].dtype(), v[0].get(gate), v[0].get(gate + inter)));
  }
}

void combine(const ExpertPolicy& policy, const Views& v) {
  const View& out = v[3];
  const std::int64_t hidden = out.extent(1), width = out.extent(0) == 0 ? 1 : v[1].extent(0) / out.extent(0);
  const bool rounds = policy.sum == CombineSum::moe_sum && width >= 2 && width <= 4;
  for (std::int64_t i = 0; i < out.extent(0) * hidden; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < width; ++j) {
      const std::int64_t slot = i / hidden * width + j, row = v[1].get_int(slot);
      if (row < 0) continue;  // a slot that dispatch dropped
      const float w = v[2].present() ? v[2].get(slot) : 1, y = v[0].get(row * hidden + i % hidden);
      sum = rounds ? out.stored(sum + out.stored(w * y)) : std::fma(w, y, sum);
    }
    out.set(i, sum);
  }
}

void scale_add(const OpParams& p, const Views& v) {
  const View& out = v[2];
  for (std::int64_t i = 0; i < out.extent(0) * out.extent(1); ++i) {
    const float scaled = out.stored(static_cast<float>(p.factor) * v[0].get(i));
    out.set(i, v[1].present() ? scaled + v[1].get(i) : scaled);
  }
}

void emulate_reals(const Step& step, DType model, const Views& v) {
  const OpParams& p = step.params;
  switch (step.op) {
    case OpKind::router:
      emulate_product(step, model, v);
      return emulate_router(p, model, v);
    case OpKind::gemm1:
    case OpKind::gemm2:
    case OpKind::shared_gemm1:
    case OpKind::shared_gemm2:
      return emulate_product(step, model, v);
    case OpKind::activation:
    case OpKind::shared_activation:
      return activation(p.expert, v);
    case OpKind::combine:
      return combine(p.expert, v);
    case OpKind::scale_add:
      return scale_add(p, v);
    case OpKind::residual_add:
      for (std::int64_t i = 0; i < v[2].extent(0) * v[2].extent(1); ++i) v[2].set(i, v[0].get(i) + v[1].get(i));
      return;
    case OpKind::weigh_input:
      for (std::int64_t i = 0; i < v[2].extent(0) * v[2].extent(1); ++i)
        v[2].set(i, v[2].stored(v[1].get(i / v[2].extent(1))) * v[0].get(i));
      return;
    case OpKind::convert:
      for (std::int64_t i = 0; i < v[1].extent(0); ++i) v[1].set(i, v[0].get(i));
      return;
    default:
      return emulate_quantisation(step, v);
  }
}

}  // namespace

void emulate(const Step& step, DType model, Memory& memory) {
  Views v;
  for (const Operand& operand : step.operands) v.emplace_back(memory, operand);
  if (step.op == OpKind::dispatch) return dispatch(v);
  if (model == DType::field) return emulate_field(step, v);
  emulate_reals(step, model, v);
}

}  // namespace moediff::test
