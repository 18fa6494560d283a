// The candidate with fp8 weights and activations, in float32, as DeepSeek's code computes them (w8a8).
#include <algorithm>

#include "harness/replay/candidate.h"
#include "harness/replay/compare.h"
#include "harness/replay/fp8_ds.h"
#include "harness/replay/kinds.h"

namespace moediff {
namespace {

/// Codes and scales of experts, one after another, as a Program's inputs have them.
struct Stack {
  std::vector<std::byte> codes;
  std::vector<double> scales;

  void add(const QuantisedMatrix& matrix) {
    codes.insert(codes.end(), matrix.codes.begin(), matrix.codes.end());
    scales.insert(scales.end(), matrix.scales.begin(), matrix.scales.end());
  }
};

/// Names of a weight's tensors, and its extents but for those of codes and scales.
void put(Inputs& inputs, const std::string& name, const Stack& stack, DType format, Shape codes, Shape scales) {
  Tensor tensor(format, std::move(codes));
  std::copy(stack.codes.begin(), stack.codes.end(), tensor.data.begin());
  inputs[name] = std::move(tensor);
  inputs[name + "_scales"] = from_doubles(DType::f32, std::move(scales), stack.scales);
}

void put_experts(const QuantisedBlock& block, Inputs& inputs) {
  const MoeShape& s = block.shape;
  const DType format = block.quant.fp8_dtype();
  const auto blocks = [&](std::int64_t size) { return (size + block.quant.group - 1) / block.quant.group; };
  Stack w13, w2;
  for (const QuantisedExpert& expert : block.experts) {
    w13.add(expert.gate);  // gate rows, then up rows, and so their scales
    w13.add(expert.up);
    w2.add(expert.down);
  }
  put(inputs, "w13", w13, format, {s.experts, 2 * s.inter, s.hidden},
      {s.experts, 2 * blocks(s.inter), blocks(s.hidden)});
  put(inputs, "w2", w2, format, {s.experts, s.hidden, s.inter}, {s.experts, blocks(s.hidden), blocks(s.inter)});
  if (s.n_shared == 0) return;
  const std::int64_t inter = s.n_shared * s.inter;
  Stack shared_w13, shared_w2;
  shared_w13.add(block.shared.gate);
  shared_w13.add(block.shared.up);
  shared_w2.add(block.shared.down);
  put(inputs, "shared_w13", shared_w13, format, {2 * inter, s.hidden}, {2 * blocks(inter), blocks(s.hidden)});
  put(inputs, "shared_w2", shared_w2, format, {s.hidden, inter}, {blocks(s.hidden), blocks(inter)});
}

LayerJob job_of(const QuantisedBlock& block, const VariantWanted& wanted, const CandidateOptions& options) {
  const MoeShape& s = block.shape;
  LayerJob job;
  job.spec.id = "replay";
  job.spec.shape = s;
  job.spec.dtype = DType::f32;
  job.spec.tokens = block.tokens;
  job.spec.router = wanted.policy.router;
  job.spec.router.factor = FactorPlace::router;
  job.spec.quant = wanted.policy.quant;
  job.spec.quant.scales = wanted.variant->routed_scales;
  job.spec.provider = options.provider.name;
  job.inputs["hidden_states"] = from_doubles(DType::f32, {block.tokens, s.hidden}, block.x);
  job.inputs["gate_weight"] = from_doubles(DType::f32, {s.experts, s.hidden}, block.gate_weight);
  if (job.spec.router.bias) job.inputs["gate_bias"] = from_doubles(DType::f32, {s.experts}, block.bias);
  put_experts(block, job.inputs);
  return job;
}

/// One kernel computes routed and shared experts with one kind of scales: not DeepSeek's ue8m0 run with shared experts.
bool can_run(const QuantisedBlock& block, const VariantWanted& wanted) {
  const bool mixed = block.shape.n_shared > 0 && wanted.variant->routed_scales == ScaleKind::ue8m0;
  return wanted.variant->quantised && wanted.expected.precision == "f32" && wanted.expected.name == "final" && !mixed;
}

}  // namespace

std::vector<Check> replay_fp8_ds_candidate(ReplayFile& file, const CandidateOptions& options) {
  const QuantisedBlock block = load_quantised_block(file, true);
  const RoutedWanted wanted = read_routed(file, block);
  std::vector<Check> checks;
  for (const VariantWanted& one : wanted.outputs) {
    if (block.tokens == 0 || !can_run(block, one)) continue;
    const std::string who = "as " + one.expected.oracle;
    const CandidateRun candidate = run_candidate(job_of(block, one, options), who, options);
    checks.insert(checks.end(), candidate.checks.begin(), candidate.checks.end());
    const std::optional<std::vector<double>> result = result_of(candidate);
    if (!result) continue;
    ExpectedTensor expected = one.expected;
    expected.name = "candidate " + who + ": " + expected.name;
    checks.push_back(compare_values(expected, one.values, {*result, block.tokens}, one.rule));
  }
  return checks;
}

}  // namespace moediff
