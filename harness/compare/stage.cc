// Each op's formula from the reference, and the form of its rounding: one row an op in kEvaluators.
#include "harness/compare/stage.h"

#include <array>

#include "harness/compare/evaluation.h"
#include "harness/compare/params_key.h"
#include "harness/core/check.h"

namespace moediff {
namespace {

struct EvaluatorRow {
  OpKind op;
  void (*evaluate)(Evaluation&);
};
constexpr std::array<EvaluatorRow, kOpKinds> kEvaluators{{
    {OpKind::router, evaluate_router},
    {OpKind::dispatch, evaluate_dispatch},
    {OpKind::gemm1, evaluate_gemm1},
    {OpKind::activation, evaluate_activation},
    {OpKind::gemm2, evaluate_gemm2},
    {OpKind::combine, evaluate_combine},
    {OpKind::shared_gemm1, evaluate_shared_gemm1},
    {OpKind::shared_activation, evaluate_activation},
    {OpKind::shared_gemm2, evaluate_shared_gemm2},
    {OpKind::scale_add, evaluate_scale_add},
    {OpKind::residual_add, evaluate_residual_add},
    {OpKind::weigh_input, evaluate_weigh_input},
    {OpKind::quantize_a1, evaluate_quantize},
    {OpKind::quantize_a2, evaluate_quantize},
    {OpKind::activation_quantize, evaluate_activation_quantize},
    {OpKind::shared_quantize_a1, evaluate_quantize},
    {OpKind::shared_quantize_a2, evaluate_quantize},
    {OpKind::shared_activation_quantize, evaluate_activation_quantize},
    {OpKind::convert, evaluate_convert},
}};

/// Everything the result depends on. Rows are independent of one another, but results are kept a call.
std::uint64_t content_hash(const Step& step, DType model, const StageInputs& inputs) {
  Hasher hasher;
  hasher.add(static_cast<std::int64_t>(model));
  add_call(hasher, step);
  for (const StageInput& input : inputs) {
    hasher.add(static_cast<std::int64_t>(input.present));
    hasher.add(std::string_view(input.key));
  }
  return hasher.value();
}

std::size_t doubles_held(const StageResult& result) {
  std::size_t sum = 0;
  for (const bounds::Acceptance& a : result.outputs)
    sum += a.value.size() + 2 * a.delta.size() + a.inner.size() + a.second.size() + a.third.size();
  return sum;
}

}  // namespace

reference::RouterConfig router_config(const Step& step, std::int64_t experts, DType model) {
  const OpParams& p = step.params;
  return {experts, p.top_k, p.n_group, p.topk_group, p.norm_topk_prob, static_cast<float>(p.factor), p.router, model};
}

std::shared_ptr<const StageResult> evaluate(const Step& step, DType model, const StageInputs& inputs,
                                            Expected& expected) {
  Expected::State& state = expected.state();
  const std::uint64_t key = content_hash(step, model, inputs);
  if (const auto found = state.stages.find(key); found != state.stages.end()) return found->second;
  Evaluation evaluation{step, model, inputs, state, {}};
  evaluation.result.outputs.resize(step.operands.size());
  CHECK(kEvaluators[static_cast<std::size_t>(step.op)].op == step.op, "kEvaluators is in the order of OpKind");
  kEvaluators[static_cast<std::size_t>(step.op)].evaluate(evaluation);
  auto result = std::make_shared<const StageResult>(std::move(evaluation.result));
  make_room(state, doubles_held(*result));
  state.stages.emplace(key, result);
  return result;
}

}  // namespace moediff
