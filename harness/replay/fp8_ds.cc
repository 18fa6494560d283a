#include "harness/replay/fp8_ds.h"

#include <algorithm>

namespace moediff {
namespace {

const Fp8Variant* find_variant(const std::string& oracle) {
  const std::string name = oracle.substr(oracle.find('.') == std::string::npos ? oracle.size() : oracle.find('.') + 1);
  const auto row =
      std::find_if(kFp8Variants.begin(), kFp8Variants.end(), [&](const Fp8Variant& v) { return v.name == name; });
  return row == kFp8Variants.end() ? nullptr : &*row;
}

OraclePolicy base_policy(const QuantisedBlock& block) {
  OraclePolicy base;
  base.quant = block.quant;
  base.router.bias = !block.bias.empty();
  return base;
}

}  // namespace

RoutedWanted read_routed(ReplayFile& file, const QuantisedBlock& block) {
  RoutedWanted wanted;
  const Shape slots{block.tokens, block.shape.top_k};
  std::vector<ExpectedTensor> numeric;
  std::vector<std::string> oracles{"ds"};
  if (file.has("topk_ids")) wanted.ids = file.integers("topk_ids", slots, 0, block.shape.experts - 1);
  if (file.has("topk_weights")) {
    const ExpectedTensor expected{"topk_weights", "", "f32", "topk_weights"};
    wanted.weights = file.reals("topk_weights", slots);
    wanted.rule = rule_for(file, expected);
    numeric.push_back(expected);
  }
  for (const ExpectedTensor& expected : expected_tensors(file, {"experts.", "shared_experts."})) {
    const Fp8Variant* const variant = find_variant(expected.oracle);
    const bool known = expected.name == "final" || (expected.name == "shared_out" && block.shape.n_shared > 0);
    if (variant == nullptr || !known || !has_rule(file.kind(), expected)) continue;
    check_bias(file, expected.oracle, oracle_policy(file, expected.oracle, base_policy(block)).router,
               !block.bias.empty());
    wanted.outputs.push_back({expected, variant, oracle_policy(file, expected.oracle, base_policy(block)),
                              rule_for(file, expected),
                              file.reals(expected.tensor, {block.tokens, block.shape.hidden})});
    numeric.push_back(expected);
    oracles.push_back(expected.oracle);
  }
  wanted.router = oracle_policy(file, "ds", base_policy(block)).router;
  check_bias(file, "ds", wanted.router, !block.bias.empty());
  check_policies(file, oracles);
  check_tolerances(file, numeric);
  file.throw_if_mistaken();
  return wanted;
}

reference::RouterConfig router_config(const QuantisedBlock& block, const RouterPolicy& policy) {
  const MoeShape& s = block.shape;
  return {s.experts, s.top_k, s.n_group, s.topk_group, s.norm_topk_prob, s.routed_scaling_factor, policy};
}

RouterInputs router_inputs(const QuantisedBlock& block, DType model) {
  const reference::Matrix gate(rounded(block.gate_weight, model), block.shape.experts, block.shape.hidden);
  const std::vector<double> x = rounded(block.x, model);
  return {reference::linear(x, block.tokens, gate).value, block.bias, block.tokens, {}};
}

}  // namespace moediff
