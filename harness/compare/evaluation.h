// What the evaluators of single ops have in common: the call, its inputs, and the acceptance of its outputs to fill.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/compare/expected_state.h"
#include "harness/compare/stage.h"

namespace moediff {

struct Evaluation {
  const Step& step;
  DType model;
  const StageInputs& inputs;
  Expected::State& state;
  StageResult result;

  int at(std::string_view slot) const { return slot_index(step.op, slot); }
  const StageInput& input(std::string_view slot) const { return inputs[static_cast<std::size_t>(at(slot))]; }
  const Shape& output_shape(std::string_view slot) const {
    return step.operands[static_cast<std::size_t>(at(slot))].shape;
  }
  std::vector<double> doubles(std::string_view slot) const {
    return to_doubles(input(slot).dtype, input(slot).bytes());
  }
  std::vector<std::int32_t> integers(std::string_view slot) const {
    const std::vector<double> values = doubles(slot);
    return {values.begin(), values.end()};
  }
  /// With the form of kRoundings.
  bounds::Acceptance& output(std::string_view slot) {
    bounds::Acceptance& acceptance = result.outputs[static_cast<std::size_t>(at(slot))];
    acceptance.form = rounding_form(step.op, slot);
    acceptance.dtype = step.operands[static_cast<std::size_t>(at(slot))].dtype;
    return acceptance;
  }
};

/// A gated activation in double, with the errors of f(gate) and of the product f(gate) * h(up) in fp32.
struct ActivationValues {
  reference::Activation exact;
  std::vector<double> act_error;
  std::vector<bounds::Delta> product;
};
ActivationValues activation_values(const Evaluation& e, std::string_view in);

bool is_partition(std::span<const std::int32_t> offsets, std::int64_t rows);
bool all_within(std::span<const std::int32_t> values, std::int64_t limit);

void evaluate_router(Evaluation& e);
void evaluate_gemm1(Evaluation& e);
void evaluate_gemm2(Evaluation& e);
void evaluate_shared_gemm1(Evaluation& e);
void evaluate_shared_gemm2(Evaluation& e);

void evaluate_dispatch(Evaluation& e);
void evaluate_activation(Evaluation& e);
void evaluate_combine(Evaluation& e);
void evaluate_scale_add(Evaluation& e);
void evaluate_residual_add(Evaluation& e);
void evaluate_weigh_input(Evaluation& e);
void evaluate_convert(Evaluation& e);

void evaluate_quantize(Evaluation& e);
void evaluate_activation_quantize(Evaluation& e);

}  // namespace moediff
