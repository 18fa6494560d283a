#include "harness/compare/expected_outputs.h"

#include "harness/compare/stage.h"

namespace moediff {
namespace {

Tensor tensor_of(const Operand& operand, std::span<const double> values) {
  return from_doubles(operand.dtype, operand.shape, values);
}

// The router's choice and weights follow from its logits, rounded as they are stored.
void add_routing(const Step& call, const StageInputs& inputs, std::map<int, Tensor>& outputs) {
  const int logits_slot = slot_index(OpKind::router, "router_logits"),
            ids_slot = slot_index(OpKind::router, "topk_ids"),
            weights_slot = slot_index(OpKind::router, "topk_weights"),
            bias_slot = slot_index(OpKind::router, "gate_bias");
  const std::vector<double> logits = to_doubles(outputs.at(logits_slot));
  const std::vector<double> bias = to_doubles(inputs[bias_slot].dtype, inputs[bias_slot].bytes());
  const Shape& shape = call.operands[logits_slot].shape;
  const reference::Routing routing = reference::route(logits, bias, shape[0], router_config(call, shape[1]));
  const std::vector<double> ids(routing.ids.begin(), routing.ids.end());
  outputs[ids_slot] = tensor_of(call.operands[ids_slot], ids);
  outputs[weights_slot] = tensor_of(call.operands[weights_slot], routing.weights);
}

}  // namespace

std::map<int, Tensor> expected_outputs(const Program& program, const Run& run, int step, Expected& expected) {
  std::map<int, Tensor> outputs;
  const Step& call = program.steps[static_cast<std::size_t>(step)];
  const std::optional<StageInputs> inputs = meant_inputs(program, run, expected.inputs(), step);
  if (call.kind != StepKind::call || !inputs) return outputs;
  const std::shared_ptr<const StageResult> result = evaluate(call, program.dtype, *inputs, expected);
  if (!result->problem.empty()) return outputs;
  for (const int operand : write_operands(call)) {
    const std::vector<double>& values = result->outputs[static_cast<std::size_t>(operand)].value;
    if (!values.empty()) outputs[operand] = tensor_of(call.operands[static_cast<std::size_t>(operand)], values);
  }
  if (call.op == OpKind::router && !outputs.empty()) add_routing(call, *inputs, outputs);
  return outputs;
}

}  // namespace moediff
