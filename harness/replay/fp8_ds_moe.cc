// The kind of DeepSeek's MoE block with fp8 weights: its router, and three ways to compute the experts.
#include <algorithm>

#include "harness/replay/compare.h"
#include "harness/replay/fp8_ds.h"
#include "harness/replay/kinds.h"
#include "harness/replay/moe_bound.h"

namespace moediff {
namespace {

/// In bfloat16 the gate rounds what it reads: rows in which that may have changed the choice are left out.
struct BlockRouting {
  std::vector<std::int32_t> ids;
  std::vector<double> weights;
  Rows compared;
};
BlockRouting routing_for(const QuantisedBlock& block, const RouterResult& exact, const RouterPolicy& policy,
                         const std::string& precision) {
  BlockRouting out{exact.ids, exact.weights, exact.decided};
  if (precision != "bf16") return out;
  const RouterResult coarse =
      route_as(router_inputs(block, DType::bf16), router_config(block, policy), {"", "", precision, ""}, exact.ids);
  const auto k = static_cast<std::ptrdiff_t>(block.shape.top_k);
  for (std::size_t t = 0; t < out.compared.size(); ++t) {
    const auto first = exact.ids.begin() + static_cast<std::ptrdiff_t>(t) * k;
    const bool same = std::equal(first, first + k, coarse.ids.begin() + static_cast<std::ptrdiff_t>(t) * k);
    out.compared[t] = out.compared[t] && coarse.sole[t] && same;
  }
  out.weights = rounded(coarse.weights, DType::bf16);
  return out;
}

/// One variant in one precision: its layer, and what both checks of an output need.
class VariantChecks {
 public:
  VariantChecks(const QuantisedBlock& block, const RouterResult& exact, const VariantWanted& wanted)
      : block_(block), wanted_(wanted), model_(dtype_of(wanted.expected.precision)) {
    const bool quantised = wanted.variant->quantised;
    arithmetic_ = arithmetic_of(wanted.policy.quant, quantised, model_);
    if (quantised) arithmetic_.quant.scales = wanted.variant->routed_scales;
    weights_ = dequantised(block, quantised ? DType::f64 : model_);
    x_ = rounded(block.x, model_);
    routing_ = routing_for(block, exact, wanted.policy.router, wanted.expected.precision);
  }

  void run(std::vector<Check>& checks) const {
    const bool shared_only = wanted_.expected.name == "shared_out";
    const std::vector<double> values = shared_only ? shared() : sum(routed(), shared(), model_);
    const Rows rows = shared_only ? Rows{} : routing_.compared;
    checks.push_back(
        compare_values(wanted_.expected, wanted_.values, {values, block_.tokens, rows, left_out(rows)}, wanted_.rule));
    checks.push_back(compare_uncertain(wanted_.expected, wanted_.values, block_.tokens,
                                       shared_only ? uncertain_shared() : uncertain_final(), rows));
  }

 private:
  static std::string left_out(const Rows& rows) {
    const auto count = std::count(rows.begin(), rows.end(), false);
    if (count == 0) return "";
    return std::to_string(count) + " of " + std::to_string(rows.size()) +
           " rows left out: their experts may differ in this precision";
  }

  std::vector<double> routed() const {
    return routed_experts(weights_, x_, routing_.ids, routing_.weights, block_.tokens, block_.shape.top_k, arithmetic_)
        .routed_out;
  }
  std::vector<double> shared() const {
    if (block_.shape.n_shared == 0) return {};
    return shared_experts(weights_, x_, block_.tokens, arithmetic_);
  }
  bounds::Uncertain uncertain_shared() const { return shared_bound(weights_, x_, block_.tokens, arithmetic_); }

  bounds::Uncertain uncertain_final() const {
    const reference::Matrix gate(rounded(block_.gate_weight, model_), block_.shape.experts, block_.shape.hidden);
    reference::RouterConfig config = router_config(block_, wanted_.policy.router);
    config.model = model_;
    config.policy.scores_in = config.policy.weights_in = KeptIn::model;
    const bounds::Uncertain routing_weights = bounds::routing_weights(logits_bound(gate, x_, block_.tokens, model_),
                                                                      block_.bias, routing_.ids, block_.tokens, config);
    const bounds::Uncertain routed =
        routed_bound(weights_, x_, routing_.ids, routing_weights, block_.tokens, block_.shape.top_k, arithmetic_);
    return block_.shape.n_shared == 0 ? routed : bounds::add(routed, uncertain_shared(), model_);
  }

  const QuantisedBlock& block_;
  const VariantWanted& wanted_;
  DType model_;
  MoeArithmetic arithmetic_;
  MoeWeights weights_;
  std::vector<double> x_;
  BlockRouting routing_;
};

}  // namespace

std::vector<Check> replay_fp8_ds_moe(ReplayFile& file) {
  const QuantisedBlock block = load_quantised_block(file, true);
  const RoutedWanted wanted = read_routed(file, block);

  std::vector<Check> checks;
  if (block.tokens == 0) return checks;
  const RouterResult exact = route_as(router_inputs(block, DType::f64), router_config(block, wanted.router),
                                      {"topk_ids", "ds", "f32", "topk_ids"}, wanted.ids);
  if (exact.check) checks.push_back(*exact.check);
  if (!wanted.weights.empty()) {
    checks.push_back(compare_values({"topk_weights", "ds", "f32", "topk_weights"}, wanted.weights,
                                    {exact.weights, block.tokens, exact.decided}, wanted.rule));
  }
  for (const VariantWanted& one : wanted.outputs) VariantChecks(block, exact, one).run(checks);
  return checks;
}

}  // namespace moediff
