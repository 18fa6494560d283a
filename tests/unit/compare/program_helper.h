// Small layers and a candidate that runs them: plain float loops over the Program's buffers, step by step in issue
// order, written from the formulas of harness/model/ops.h and sharing no code with the comparator or the reference.
#pragma once

#include <functional>
#include <memory>

#include "harness/program/build.h"
#include "harness/run/run.h"
#include "tests/unit/compare/emulate.h"

namespace moediff::test {

struct LayerOptions {
  std::int64_t tokens = 5, hidden = 32, inter = 24, experts = 8, top_k = 2, n_group = 1, topk_group = 1, n_shared = 1;
  DType dtype = DType::bf16;
  StreamMode stream = StreamMode::none;
  std::int64_t chunk = 0;
  int split_k = 1;
  bool residual = false, in_place = false;
  double factor = 1.0;
  std::uint64_t seed = 1;
  bool integers = false;  ///< small integers: every linear stage is exact
  bool norm_topk_prob = true;
  RouterPolicy router = {};
  ExpertPolicy expert = {};
  QuantSpec quant = {};
  Arithmetic arithmetic = Arithmetic::floating;
  Distribution distribution = Distribution::normal;
};

Case case_of(const LayerOptions& options);

Program build_layer(const LayerOptions& options);
/// A tensor for every initial value of the Program.
std::shared_ptr<Inputs> make_layer_inputs(const Program& program, const LayerOptions& options);

/// A fault changes the candidate's memory, by buffer, after a step has written its outputs.
using Fault = std::function<void(const Step&, Memory&)>;

/// Executes the Program. Outputs are captured after `fault` has had its turn.
Run execute(const Program& program, const Inputs& inputs, const Fault& fault = {});

/// First step with the name.
int step_named(const Program& program, const std::string& name);
/// Element access to a dense operand in memory.
double read_element(const Memory& memory, const Operand& operand, std::int64_t index);
void write_element(Memory& memory, const Operand& operand, std::int64_t index, double value);

}  // namespace moediff::test
