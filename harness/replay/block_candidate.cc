// The candidate on a file's block: float32, with each oracle's policies, its results held against the oracle's in
// double by the float32 rule. Where experts tie the candidate takes the lowest index, and an oracle may take another:
// such rows are compared where the experts that differ are clones.
#include <algorithm>
#include <map>

#include "harness/replay/block_oracles.h"
#include "harness/replay/candidate.h"
#include "harness/replay/compare.h"
#include "harness/replay/kinds.h"

namespace moediff {
namespace {

std::vector<double> joined(const std::vector<std::vector<double>>& parts) {
  std::vector<double> all;
  for (const std::vector<double>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// A gate alone gets experts of one channel with weights of 0: a layer without experts cannot be run.
Block with_experts(Block block) {
  MoeShape& s = block.shape;
  if (s.inter > 0) return block;
  s.inter = 1;
  block.w13.assign(static_cast<std::size_t>(s.experts), std::vector<double>(static_cast<std::size_t>(2 * s.hidden)));
  block.w2.assign(static_cast<std::size_t>(s.experts), std::vector<double>(static_cast<std::size_t>(s.hidden)));
  return block;
}

LayerJob job_of(const Block& block, const RouterPolicy& policy, const CandidateOptions& options) {
  const MoeShape& s = block.shape;
  LayerJob job;
  job.spec.id = "replay";
  job.spec.shape = s;
  job.spec.dtype = DType::f32;
  job.spec.tokens = block.tokens;
  job.spec.router = policy;
  job.spec.router.factor = FactorPlace::router;  // as the oracles: topk_weights and routed_out contain the factor
  const bool one = s.top_k == 1;                 // with more, each slot has an input of its own: the product's weight
  if (policy.weight_on == WeightPlace::input && !one) job.spec.router.weight_on = WeightPlace::gemm1;
  job.spec.expert.activation = block.activation;
  job.spec.provider = options.provider.name;
  const auto add = [&](const char* name, Shape shape, const std::vector<double>& values) {
    job.inputs[name] = from_doubles(DType::f32, std::move(shape), values);
  };
  add("hidden_states", {block.tokens, s.hidden}, block.x);
  add("gate_weight", {s.experts, s.hidden}, block.gate_weight);
  if (policy.bias) add("gate_bias", {s.experts}, block.bias);
  add("w13", {s.experts, 2 * s.inter, s.hidden}, joined(block.w13));
  add("w2", {s.experts, s.hidden, s.inter}, joined(block.w2));
  if (s.n_shared == 0) return job;
  add("shared_w13", {2 * s.n_shared * s.inter, s.hidden}, block.shared_w13);
  add("shared_w2", {s.hidden, s.n_shared * s.inter}, block.shared_w2);
  return job;
}

/// The lowest expert with the same gate, bias and weights, for each expert.
std::vector<std::int32_t> originals(const Block& block) {
  const auto hidden = static_cast<std::size_t>(block.shape.hidden);
  const auto same = [&](std::size_t a, std::size_t b) {
    const auto gate = [&](std::size_t e) {
      return block.gate_weight.begin() + static_cast<std::ptrdiff_t>(e * hidden);
    };
    return std::equal(gate(a), gate(a) + static_cast<std::ptrdiff_t>(hidden), gate(b)) &&
           (block.bias.empty() || block.bias[a] == block.bias[b]) && block.w13[a] == block.w13[b] &&
           block.w2[a] == block.w2[b];
  };
  std::vector<std::int32_t> first;
  for (std::size_t e = 0; e < block.w13.size(); ++e) {
    std::size_t original = 0;
    while (original < e && !same(original, e)) ++original;  // NaN equals nothing, not itself either
    first.push_back(static_cast<std::int32_t>(original));
  }
  return first;
}

std::vector<std::int32_t> row_of(const std::vector<std::int32_t>& ids, std::size_t t, std::int64_t k) {
  const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(t) * k;
  return {begin, begin + k};
}

/// One policy's run, and the comparison with the oracles that have it.
class CandidateChecks {
 public:
  CandidateChecks(const Block& block, const RouterInputs& inputs, const reference::RouterConfig& config,
                  const std::string& who, const CandidateOptions& options)
      : block_(block),
        inputs_(inputs),
        config_(config),
        who_(who),
        candidate_(run_candidate(job_of(block, config.policy, options), who, options)) {
    if (const auto ids = stored(candidate_, "topk_ids")) ids_.assign(ids->begin(), ids->end());
  }

  void run(std::vector<Check>& checks) {
    checks.insert(checks.end(), candidate_.checks.begin(), candidate_.checks.end());
    usable_ =
        candidate_.run.status == RunStatus::ok &&
        ids_.size() == static_cast<std::size_t>(block_.tokens * block_.shape.top_k) &&
        std::all_of(ids_.begin(), ids_.end(), [&](std::int32_t id) { return id >= 0 && id < block_.shape.experts; });
    if (!usable_) return;
    routing_ = route_as(inputs_, config_, {"", who_, "f32", "candidate " + who_ + ": topk_ids"}, ids_);
    checks.push_back(*routing_.check);
  }

  /// The oracle's results in double.
  void compare_with(const BlockOracle& oracle, std::vector<Check>& checks) const {
    if (!usable_) return;
    for (const auto& [output, wanted] : oracle.wanted) {
      const std::optional<std::vector<double>> values = value_of(output, oracle);
      if (values) checks.push_back(compare(output, wanted, oracle, *values));
    }
  }

 private:
  std::optional<std::vector<double>> value_of(BlockOutput output, const BlockOracle& oracle) const {
    switch (output) {
      case BlockOutput::logits:
        return stored(candidate_, "router_logits");
      case BlockOutput::weights:
        return weights_in_order_of(oracle);
      case BlockOutput::routed:
        return stored(candidate_, "routed_out");
      case BlockOutput::shared:
        return stored(candidate_, "shared_out");
      case BlockOutput::final:
        return result_of(candidate_);
      default:
        return std::nullopt;
    }
  }

  /// The candidate's weights as the oracle orders its experts; 0 for an expert that the candidate did not take.
  std::optional<std::vector<double>> weights_in_order_of(const BlockOracle& oracle) const {
    const std::optional<std::vector<double>> own = stored(candidate_, "topk_weights");
    if (!own || !oracle.wants(BlockOutput::ids)) return std::nullopt;
    const std::vector<std::int32_t>& wanted = oracle.wanted.at(BlockOutput::ids).ids;
    const auto k = static_cast<std::size_t>(block_.shape.top_k);
    std::vector<double> out(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (std::size_t j = i / k * k; j < i / k * k + k; ++j) {
        if (ids_[j] == wanted[i]) out[i] = (*own)[j];
      }
    }
    return out;
  }

  /// Rows in which both sides have the same experts; for what comes out of them, clones count as the same.
  Rows same_experts(const BlockOracle& oracle, bool clones) const {
    if (!oracle.wants(BlockOutput::ids)) return routing_.sole;
    const std::vector<std::int32_t> first = clones ? originals(block_) : std::vector<std::int32_t>{};
    const auto set = [&](const std::vector<std::int32_t>& ids, std::size_t t) {
      std::vector<std::int32_t> row = row_of(ids, t, block_.shape.top_k);
      for (std::int32_t& id : row) id = clones ? first[static_cast<std::size_t>(id)] : id;
      std::sort(row.begin(), row.end());
      return row;
    };
    Rows rows;
    for (std::size_t t = 0; t < static_cast<std::size_t>(block_.tokens); ++t) {
      rows.push_back(set(ids_, t) == set(oracle.wanted.at(BlockOutput::ids).ids, t));
    }
    return rows;
  }

  Check compare(BlockOutput output, const BlockWanted& wanted, const BlockOracle& oracle,
                std::span<const double> values) const {
    const bool weighted = output != BlockOutput::logits && output != BlockOutput::shared;
    ExpectedTensor expected = wanted.expected;
    expected.name = "candidate " + who_ + ": " + expected.name;
    Rule rule{Measure::of_largest, kFloat32Limit};
    if (!weighted) return compare_values(expected, wanted.values, {values, block_.tokens}, rule);
    rule = weighted_rule(rule, "f32", config_, inputs_.logits);
    Rows rows = same_experts(oracle, output != BlockOutput::weights);
    for (std::size_t t = 0; t < rows.size(); ++t) rows[t] = rows[t] && routing_.holds[t];
    const auto out = std::count(rows.begin(), rows.end(), false);
    const std::string note = out == 0 ? ""
                                      : std::to_string(out) + " of " + std::to_string(rows.size()) +
                                            " rows left out: ties taken otherwise, or sums that float32 cannot hold";
    return compare_values(expected, wanted.values, {values, block_.tokens, rows, note}, rule);
  }

  const Block& block_;
  const RouterInputs& inputs_;
  const reference::RouterConfig& config_;
  std::string who_;
  CandidateRun candidate_;
  std::vector<std::int32_t> ids_;
  RouterResult routing_;
  bool usable_ = false;
};

}  // namespace

std::vector<Check> replay_block_candidate(ReplayFile& file, const CandidateOptions& options) {
  const BlockFamily& family = family_of(file);
  const Block loaded = load_block(file, family);
  const RouterInputs inputs = router_inputs(file, loaded);
  const std::map<std::string, BlockOracle> oracles = read_oracles(file, family, loaded);
  std::vector<Check> checks;
  if (loaded.tokens == 0) return checks;
  const Block block = with_experts(loaded);
  std::vector<const BlockOracle*> left;
  for (const auto& entry : oracles) {
    if (entry.second.precision == "f64") left.push_back(&entry.second);
  }
  while (!left.empty()) {  // one run for all oracles of one policy
    const BlockOracle& first = *left.front();
    CandidateChecks run(block, inputs, first.config, "as " + first.wanted.begin()->second.expected.oracle, options);
    run.run(checks);
    std::vector<const BlockOracle*> others;
    for (const BlockOracle* oracle : left) {
      const bool same = oracle->config.policy == first.config.policy;
      if (same) run.compare_with(*oracle, checks);
      if (!same) others.push_back(oracle);
    }
    left = std::move(others);
  }
  return checks;
}

}  // namespace moediff
