#include "tests/unit/compare/program_helper.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "harness/core/random.h"
#include "harness/program/inputs.h"
#include "tests/unit/compare/emulate.h"

namespace moediff::test {
namespace {

std::vector<std::byte> pack(const Memory& memory, const Region& region, int buffer) {
  std::vector<std::byte> packed;
  for (std::int64_t row = 0; row < region.rows; ++row) {
    const auto begin = memory[buffer].begin() + region.offset + (row == 0 ? 0 : row * region.stride);
    packed.insert(packed.end(), begin, begin + region.row_bytes);
  }
  return packed;
}

void unpack(Memory& memory, const Region& region, int buffer, const std::vector<std::byte>& packed) {
  for (std::int64_t row = 0; row < region.rows; ++row) {
    std::copy_n(packed.begin() + row * region.row_bytes, region.row_bytes,
                memory[buffer].begin() + region.offset + (row == 0 ? 0 : row * region.stride));
  }
}

void capture(const Memory& memory, const Step& step, const std::vector<int>& operands,
             std::vector<std::vector<std::byte>>& out) {
  out.resize(step.operands.size());
  for (const int i : operands) out[i] = pack(memory, step.operands[i].region, step.operands[i].buffer);
}

Tensor generate(const Value& value, const LayerOptions& options) {
  const std::uint64_t key = stream_key(options.seed, value.initial);
  const bool bias = value.initial == "gate_bias", hidden = value.initial == "hidden_states";
  const double scale = bias ? 0.1 : hidden ? 1.0 : 1.0 / std::sqrt(static_cast<double>(value.shape.back()));
  std::vector<double> numbers(static_cast<std::size_t>(count(value.shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (value.initial == "shared_ids")
      numbers[i] = static_cast<double>(options.experts + static_cast<std::int64_t>(i) % options.n_shared);
    else if (value.initial == "shared_weights")
      numbers[i] = 1.0;
    else if (options.integers && !bias)
      numbers[i] = std::floor(random_uniform(key, i) * 5) - 2;
    else
      numbers[i] = random_normal(key, i) * scale;
  }
  return from_doubles(value.dtype, value.shape, numbers);
}

}  // namespace

Case case_of(const LayerOptions& options) {
  Case spec;
  spec.shape = {options.hidden,     options.inter,    options.experts,        options.top_k, options.n_group,
                options.topk_group, options.n_shared, options.norm_topk_prob, options.factor};
  spec.dtype = options.dtype;
  spec.tokens = options.tokens;
  spec.stream = spec.effective_stream = options.stream;
  spec.chunk = options.chunk;
  spec.split_k = options.split_k;
  spec.residual = options.residual;
  spec.in_place = options.in_place;
  spec.order = IssueOrder::shared_first;
  spec.seed = options.seed;
  spec.router = options.router;
  spec.expert = options.expert;
  spec.quant = options.quant;
  spec.arithmetic = options.arithmetic;
  spec.input.distribution = options.integers ? Distribution::integers : options.distribution;
  return spec;
}

Program build_layer(const LayerOptions& options) { return build_moe_layer(case_of(options)); }

std::shared_ptr<Inputs> make_layer_inputs(const Program& program, const LayerOptions& options) {
  const bool drawn = options.quant.scheme != QuantScheme::none || options.distribution != Distribution::normal ||
                     options.arithmetic == Arithmetic::field;
  if (drawn) return std::make_shared<Inputs>(make_inputs(case_of(options)).tensors);
  auto inputs = std::make_shared<Inputs>();
  for (const Value& value : program.values) {
    if (!value.initial.empty()) inputs->emplace(value.initial, generate(value, options));
  }
  return inputs;
}

Run execute(const Program& program, const Inputs& inputs, const Fault& fault) {
  Memory memory;
  for (const Buffer& buffer : program.buffers)
    memory.emplace_back(static_cast<std::size_t>(buffer.bytes), std::byte{0xff});
  for (const Value& value : program.values) {
    if (!value.initial.empty()) unpack(memory, value.region, value.buffer, inputs.at(value.initial).data);
  }
  Run run;
  run.capture.operands.resize(program.steps.size());
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (step.kind != StepKind::call && step.kind != StepKind::copy) continue;
    capture(memory, step, read_operands(step), run.capture.operands[s]);
    if (step.kind == StepKind::call)
      emulate(step, program.dtype, memory);
    else
      unpack(memory, step.operands[1].region, step.operands[1].buffer,
             pack(memory, step.operands[0].region, step.operands[0].buffer));
    if (fault) fault(step, memory);
    capture(memory, step, write_operands(step), run.capture.operands[s]);
  }
  return run;
}

int step_named(const Program& program, const std::string& name) {
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (program.steps[s].name == name) return static_cast<int>(s);
  }
  return -1;
}

double read_element(const Memory& memory, const Operand& operand, std::int64_t index) {
  const View view(const_cast<Memory&>(memory), operand);
  return operand.dtype == DType::i32 ? view.get_int(index) : static_cast<double>(view.get(index));
}

void write_element(Memory& memory, const Operand& operand, std::int64_t index, double value) {
  const View view(memory, operand);
  operand.dtype == DType::i32 ? view.set_int(index, static_cast<std::int32_t>(value))
                              : view.set(index, static_cast<float>(value));
}

}  // namespace moediff::test
