// The kind of a MoE block with fp8 weights and given routing, as vLLM's test oracle computes it.
#include <algorithm>
#include <array>

#include "harness/replay/compare.h"
#include "harness/replay/fp8.h"
#include "harness/replay/fp8_block.h"
#include "harness/replay/kinds.h"
#include "harness/replay/moe_bound.h"
#include "harness/replay/policy.h"

namespace moediff {
namespace {

/// Names of what is expected: ORACLE.NAME. silu_fp32: the activation is float32 until it is quantised.
struct GivenOutput {
  std::string_view name;
  bool quantised;
  QuantizeA2 second;
};
constexpr std::array<GivenOutput, 3> kGivenOutputs{{{"final", true, QuantizeA2::separate},
                                                    {"final_silu_fp32", true, QuantizeA2::fused},
                                                    {"w8a16_f64_final", false, QuantizeA2::separate}}};

struct GivenWanted {
  ExpectedTensor expected;
  MoeArithmetic arithmetic;
  Rule rule;
  std::vector<double> values;
};

std::vector<GivenWanted> read_given(ReplayFile& file, const QuantisedBlock& block) {
  std::vector<GivenWanted> all;
  std::vector<ExpectedTensor> numeric;
  std::vector<std::string> oracles;
  for (const auto& entry : file.tensors()) {
    const std::size_t dot = entry.first.find('.');
    if (dot == std::string::npos) continue;
    const std::string oracle = entry.first.substr(0, dot), name = entry.first.substr(dot + 1);
    const auto row = std::find_if(kGivenOutputs.begin(), kGivenOutputs.end(),
                                  [&](const GivenOutput& candidate) { return candidate.name == name; });
    const ExpectedTensor expected = plain_expected(file, entry.first, oracle, name);
    if (row == kGivenOutputs.end() || !has_rule(file.kind(), expected)) continue;
    OraclePolicy base;
    base.quant = block.quant;
    QuantSpec quant = oracle_policy(file, oracle, base).quant;
    quant.quantize_a2 = row->second;
    const MoeArithmetic arithmetic = arithmetic_of(quant, row->quantised, dtype_of(expected.precision));
    all.push_back(
        {expected, arithmetic, rule_for(file, expected), file.reals(entry.first, {block.tokens, block.shape.hidden})});
    numeric.push_back(expected);
    oracles.push_back(oracle);
  }
  check_policies(file, oracles);
  check_tolerances(file, numeric);
  return all;
}

/// The first quantisation of the activations, as the file's oracle does it.
void check_first_codes(const QuantisedBlock& block, const QuantSpec& quant, const std::vector<std::byte>& codes,
                       const std::vector<double>& scales, std::vector<Check>& checks) {
  const reference::Quantised actual = reference::quantise(block.x, block.tokens, block.shape.hidden, quant);
  const DType format = quant.fp8_dtype();
  if (!codes.empty())
    checks.push_back(compare_codes({"a.q", "", "", "a1 codes"}, codes, encoded(actual.code, format), format));
  if (!scales.empty()) checks.push_back(compare_exactly({"a.scale", "", "f32", "a1 scales"}, scales, actual.scale));
}

}  // namespace

std::vector<Check> replay_fp8_block_moe(ReplayFile& file) {
  const QuantisedBlock block = load_quantised_block(file, false);
  const MoeShape& s = block.shape;
  const std::vector<std::int32_t> ids = file.integers("topk_ids", {block.tokens, s.top_k}, 0, s.experts - 1);
  const std::vector<double> topk_weights = file.reals("topk_weights", {block.tokens, s.top_k});
  const std::int64_t groups = (s.hidden + block.quant.group - 1) / block.quant.group;
  std::vector<std::byte> codes;
  std::vector<double> scales;
  if (file.has("a.q")) codes = file.bytes("a.q", {block.tokens, s.hidden}, block.quant.fp8_dtype());
  if (file.has("a.scale")) scales = file.reals("a.scale", {block.tokens, groups});
  const std::vector<GivenWanted> wanted = read_given(file, block);
  file.throw_if_mistaken();

  std::vector<Check> checks;
  if (block.tokens == 0) return checks;
  check_first_codes(block, block.quant, codes, scales, checks);
  const MoeWeights weights = dequantised(block, DType::f64);
  for (const GivenWanted& one : wanted) {
    const std::vector<double> given = rounded(topk_weights, one.arithmetic.model);
    const Routed routed = routed_experts(weights, block.x, ids, given, block.tokens, s.top_k, one.arithmetic);
    checks.push_back(compare_values(one.expected, one.values, {routed.routed_out, block.tokens}, one.rule));
    if (one.arithmetic.model == DType::f64) continue;
    checks.push_back(compare_uncertain(
        one.expected, one.values, block.tokens,
        routed_bound(weights, block.x, ids, bounds::exact_values(given), block.tokens, s.top_k, one.arithmetic)));
  }
  return checks;
}

}  // namespace moediff
