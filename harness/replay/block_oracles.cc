#include "harness/replay/block_oracles.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/core/check.h"
#include "harness/replay/policy.h"

namespace moediff {
namespace {

struct OutputRow {
  BlockOutput output;
  std::string_view name;
};
constexpr std::array<OutputRow, 9> kOutputs{{{BlockOutput::logits, "router_logits"},
                                             {BlockOutput::scores, "router_scores"},
                                             {BlockOutput::ids, "topk_ids"},
                                             {BlockOutput::raw_ids, "topk_ids_raw"},
                                             {BlockOutput::weights, "topk_weights"},
                                             {BlockOutput::experts, "expert_out_sorted"},
                                             {BlockOutput::routed, "routed_out"},
                                             {BlockOutput::shared, "shared_out"},
                                             {BlockOutput::final, "final"}}};

Shape shape_of(BlockOutput output, const Block& block) {
  const MoeShape& s = block.shape;
  switch (output) {
    case BlockOutput::logits:
    case BlockOutput::scores:
      return {block.tokens, s.experts};
    case BlockOutput::ids:
    case BlockOutput::raw_ids:
    case BlockOutput::weights:
      return {block.tokens, s.top_k};
    case BlockOutput::experts:
      return {block.tokens, s.top_k, s.hidden};
    case BlockOutput::routed:
    case BlockOutput::shared:
    case BlockOutput::final:
      break;
  }
  return {block.tokens, s.hidden};
}

/// A gate alone has no experts, a family without shared experts no shared_out.
bool has_output(BlockOutput output, const Block& block) {
  if (output == BlockOutput::shared) return block.shape.n_shared > 0;
  return block.shape.inter > 0 || output < BlockOutput::experts;
}

bool is_ids(BlockOutput output) { return output == BlockOutput::ids || output == BlockOutput::raw_ids; }

BlockWanted read_wanted(ReplayFile& file, const ExpectedTensor& expected, BlockOutput output, const Block& block) {
  BlockWanted wanted{expected, {}, {}, kLegitimate};
  const Shape shape = shape_of(output, block);
  if (is_ids(output)) {
    wanted.ids = file.integers(expected.tensor, shape, 0, block.shape.experts - 1);
  } else {
    wanted.values = file.reals(expected.tensor, shape);
    wanted.rule = rule_for(file, expected);
  }
  return wanted;
}

reference::RouterConfig router_config(ReplayFile& file, const ExpectedTensor& expected, const Block& block) {
  const MoeShape& s = block.shape;
  OraclePolicy base;
  base.router = block.router;
  const RouterPolicy policy = oracle_policy(file, expected.oracle, base).router;
  check_bias(file, expected.oracle, policy, !block.bias.empty());
  return {s.experts,        s.top_k,
          s.n_group,        s.topk_group,
          s.norm_topk_prob, s.routed_scaling_factor,
          policy,           expected.precision == "f32" ? DType::f32 : DType::f64};
}

}  // namespace

std::map<std::string, BlockOracle> read_oracles(ReplayFile& file, const BlockFamily& family, const Block& block) {
  std::map<std::string, BlockOracle> oracles;
  std::vector<ExpectedTensor> numeric;
  std::vector<std::string> names;
  for (const ExpectedTensor& expected : expected_tensors(file, {"in.", "diag.", std::string(family.prefix)})) {
    const auto row = std::find_if(kOutputs.begin(), kOutputs.end(),
                                  [&](const OutputRow& candidate) { return candidate.name == expected.name; });
    if (row == kOutputs.end() || !has_output(row->output, block) || !has_rule(file.kind(), expected)) continue;
    BlockOracle& oracle = oracles[expected.oracle + "." + expected.precision];
    if (oracle.wanted.empty()) oracle.config = router_config(file, expected, block);
    oracle.precision = expected.precision;
    oracle.wanted[row->output] = read_wanted(file, expected, row->output, block);
    names.push_back(expected.oracle);
    if (!is_ids(row->output)) numeric.push_back(expected);
  }
  check_policies(file, names);
  check_tolerances(file, numeric);
  file.throw_if_mistaken();
  return oracles;
}

const BlockFamily& family_of(const ReplayFile& file) {
  const auto family = std::find_if(kBlockFamilies.begin(), kBlockFamilies.end(),
                                   [&](const BlockFamily& row) { return row.kind == file.kind(); });
  CHECK(family != kBlockFamilies.end(), "kinds that are blocks have a row in kBlockFamilies");
  return *family;
}

RouterInputs router_inputs(ReplayFile& file, const Block& block) {
  const MoeShape& s = block.shape;
  RouterInputs inputs;
  inputs.tokens = block.tokens;
  inputs.bias = block.bias;
  if (file.has("diag.tie_rows")) {
    for (const std::int32_t tie : file.integers("diag.tie_rows", {block.tokens}, 0, 1))
      inputs.stated_ties.push_back(tie != 0);
  }
  file.throw_if_mistaken();
  if (block.tokens == 0) return inputs;
  inputs.logits = reference::linear(block.x, block.tokens, {block.gate_weight, s.experts, s.hidden}).value;
  return inputs;
}

Rule weighted_rule(Rule rule, const std::string& precision, const reference::RouterConfig& config,
                   const std::vector<double>& logits) {
  if (rule.stated || precision != "f32" || config.policy.scoring != Scoring::softmax) return rule;
  for (const double logit : logits) {
    if (std::isfinite(logit))
      rule.limit = std::max(rule.limit, std::min(kMostSoftmaxLimit, kSoftmaxPerLogit * std::abs(logit)));
  }
  return rule;
}

}  // namespace moediff
