#include "harness/compare/expected_outputs.h"

#include <cmath>

#include "harness/compare/field_stage.h"
#include "harness/compare/stage.h"
#include "harness/core/formats.h"

namespace moediff {
namespace {

Tensor tensor_of(const Operand& operand, std::span<const double> values) {
  std::vector<double> storable(values.begin(), values.end());
  const bool integer = !is_float(operand.dtype);
  for (double& value : storable) {
    if (integer && std::isnan(value)) value = 0;  // the code of a NaN is whatever an implementation makes of it
  }
  return from_doubles(operand.dtype, operand.shape, storable);
}

// Stages that round more than once do so here as well: no error, all roundings.
std::vector<double> rounded_values(const bounds::Acceptance& expected) {
  std::vector<double> values = expected.value;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || !bounds::has_claim(expected, i)) continue;
    values[i] = bounds::acceptable(expected, i, 0, bounds::Level::statistical).lo;
  }
  return values;
}

// The router's choice and weights follow from its logits, rounded as they are stored.
void add_routing(const Step& call, DType model, const StageInputs& inputs, std::map<int, Tensor>& outputs) {
  const int logits_slot = slot_index(OpKind::router, "router_logits"),
            ids_slot = slot_index(OpKind::router, "topk_ids"),
            weights_slot = slot_index(OpKind::router, "topk_weights"),
            bias_slot = slot_index(OpKind::router, "gate_bias");
  const std::vector<double> logits = to_doubles(outputs.at(logits_slot));
  const std::vector<double> bias = inputs[bias_slot].present
                                       ? to_doubles(inputs[bias_slot].dtype, inputs[bias_slot].bytes())
                                       : std::vector<double>{};
  const Shape& shape = call.operands[logits_slot].shape;
  const reference::Routing routing = reference::route(logits, bias, shape[0], router_config(call, shape[1], model));
  const std::vector<double> ids(routing.ids.begin(), routing.ids.end());
  outputs[ids_slot] = tensor_of(call.operands[ids_slot], ids);
  outputs[weights_slot] = tensor_of(call.operands[weights_slot], routing.weights);
}

std::map<int, Tensor> field_outputs(const Step& call, const StageInputs& inputs, Expected& expected) {
  std::map<int, Tensor> outputs;
  for (const auto& [operand, bytes] : evaluate_field(call, inputs, expected)->outputs) {
    Tensor tensor(call.operands[static_cast<std::size_t>(operand)].dtype,
                  call.operands[static_cast<std::size_t>(operand)].shape);
    tensor.data = bytes;
    outputs.emplace(operand, std::move(tensor));
  }
  return outputs;
}

}  // namespace

std::map<int, Tensor> expected_outputs(const Program& program, const Run& run, int step, Expected& expected) {
  std::map<int, Tensor> outputs;
  const Step& call = program.steps[static_cast<std::size_t>(step)];
  const std::optional<StageInputs> inputs = meant_inputs(program, run, expected.inputs(), step);
  if (call.kind != StepKind::call || !inputs) return outputs;
  if (program.dtype == DType::field) return field_outputs(call, *inputs, expected);
  const std::shared_ptr<const StageResult> result = evaluate(call, program.dtype, *inputs, expected);
  if (!result->problem.empty()) return outputs;
  for (const int operand : write_operands(call)) {
    const std::vector<double> values = rounded_values(result->outputs[static_cast<std::size_t>(operand)]);
    if (!values.empty()) outputs[operand] = tensor_of(call.operands[static_cast<std::size_t>(operand)], values);
  }
  if (call.op == OpKind::router && !outputs.empty()) add_routing(call, program.dtype, *inputs, outputs);
  return outputs;
}

}  // namespace moediff
