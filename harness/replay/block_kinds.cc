// The kinds that are a MoE block or its gate: for each oracle and precision in the file its router by its own policies,
// and the experts with its own choice where the scores allow that.
#include <algorithm>

#include "harness/replay/block_oracles.h"
#include "harness/replay/compare.h"
#include "harness/replay/kinds.h"

namespace moediff {
namespace {

/// [T, E]: the weight of an expert that was taken, 0 elsewhere.
std::vector<double> scattered(const RouterResult& router, std::int64_t experts, std::int64_t k) {
  std::vector<double> out(router.ids.size() / static_cast<std::size_t>(k) * static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < router.ids.size(); ++i) {
    const std::size_t t = i / static_cast<std::size_t>(k);
    out[t * static_cast<std::size_t>(experts) + static_cast<std::size_t>(router.ids[i])] = router.weights[i];
  }
  return out;
}

std::string left_out(const Rows& rows, const char* why) {
  const auto count = std::count(rows.begin(), rows.end(), false);
  return count == 0 ? "" : std::to_string(count) + " of " + std::to_string(rows.size()) + " rows left out: " + why;
}

/// The checks of one oracle in one precision.
class OracleChecks {
 public:
  OracleChecks(const Block& block, const MoeWeights& weights, const RouterInputs& inputs, const BlockOracle& oracle)
      : block_(block), oracle_(oracle), inputs_(inputs), router_(route(BlockOutput::ids)) {
    arithmetic_.activation = block.activation;
    const WeightPlace place = oracle.config.policy.weight_on;
    arithmetic_.weigh_input = place == WeightPlace::input || place == WeightPlace::gemm1;  // the same in double
    if (oracle_.wants(BlockOutput::experts) || oracle_.wants(BlockOutput::routed) ||
        oracle_.wants(BlockOutput::final)) {
      routed_ =
          routed_experts(weights, block.x, router_.ids, router_.weights, block.tokens, block.shape.top_k, arithmetic_);
    }
    if (block.shape.n_shared > 0) shared_ = shared_experts(weights, block.x, block.tokens, arithmetic_);
  }

  std::vector<Check> run() const {
    std::vector<Check> checks;
    for (const auto& [output, wanted] : oracle_.wanted) checks.push_back(check(output, wanted));
    return checks;
  }

 private:
  RouterResult route(BlockOutput output) const {
    const auto found = oracle_.wanted.find(output);
    if (found == oracle_.wanted.end()) return route_as(inputs_, oracle_.config, {"", "", oracle_.precision, ""}, {});
    return route_as(inputs_, oracle_.config, found->second.expected, found->second.ids);
  }

  Check check(BlockOutput output, const BlockWanted& wanted) const {
    switch (output) {
      case BlockOutput::logits:
        return compare(wanted, inputs_.logits, {});
      case BlockOutput::scores:
        return compare(wanted, scattered(router_, block_.shape.experts, block_.shape.top_k), router_.decided);
      case BlockOutput::ids:
        return *router_.check;
      case BlockOutput::raw_ids:
        return *route(output).check;
      case BlockOutput::weights:
        return compare_weighted(wanted, router_.weights);
      case BlockOutput::experts:
        return compare(wanted, routed_.expert_out, router_.decided);
      case BlockOutput::routed:
        return compare_weighted(wanted, routed_.routed_out);
      case BlockOutput::shared:
        return compare(wanted, shared_, {});
      case BlockOutput::final:
        break;
    }
    return compare_weighted(wanted, sum(routed_.routed_out, shared_, DType::f64));
  }

  Check compare(const BlockWanted& wanted, std::span<const double> values, const Rows& rows) const {
    const std::string note = left_out(rows, "another choice of experts is as right");
    return compare_values(wanted.expected, wanted.values, {values, block_.tokens, rows, note}, wanted.rule);
  }

  /// What the weights are in, with their errors.
  Check compare_weighted(const BlockWanted& wanted, std::span<const double> values) const {
    Rows rows = router_.decided;
    for (std::size_t t = 0; t < rows.size(); ++t) rows[t] = rows[t] && router_.holds[t];
    std::string note = left_out(router_.decided, "another choice of experts is as right");
    const std::string held = left_out(router_.holds, "the sum of scores is below the smallest normal float32");
    if (!held.empty()) note += (note.empty() ? "" : "; ") + held;
    return compare_values(wanted.expected, wanted.values, {values, block_.tokens, rows, note},
                          weighted_rule(wanted.rule, oracle_.precision, oracle_.config, inputs_.logits));
  }

  const Block& block_;
  const BlockOracle& oracle_;
  const RouterInputs& inputs_;
  RouterResult router_;
  MoeArithmetic arithmetic_;
  Routed routed_;
  std::vector<double> shared_;
};

}  // namespace

std::vector<Check> replay_block(ReplayFile& file) {
  const BlockFamily& family = family_of(file);
  const Block block = load_block(file, family);
  const RouterInputs inputs = router_inputs(file, block);
  std::vector<Check> checks;
  const std::map<std::string, BlockOracle> oracles = read_oracles(file, family, block);
  if (block.tokens == 0) return checks;
  const MoeWeights weights = moe_weights(block);
  for (const auto& entry : oracles) {
    const std::vector<Check> more = OracleChecks(block, weights, inputs, entry.second).run();
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace moediff
