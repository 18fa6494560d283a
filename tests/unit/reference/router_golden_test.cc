// Routing against other people's routers: DeepSeek-V2 and V3, Qwen3-MoE, Mixtral, Llama-4, and where they disagree with
// each other, each by its policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "reference/api.h"
#include "tests/unit/reference/golden_file.h"

namespace moediff::reference {
namespace {

struct Gate {
  std::vector<double> logits, bias;
  std::int64_t tokens;
  RouterConfig config;
};

/// The gate of a file: logits from its hidden states and weights, in double.
Gate load(const GoldenFile& file) {
  std::string weight = "mlp.gate.weight";
  for (const char* name : {"block_sparse_moe.gate.weight", "feed_forward.router.weight"}) {
    if (file.contains(name)) weight = name;
  }
  const std::int64_t experts = file.shape(weight)[0], hidden = file.shape(weight)[1];
  const std::int64_t tokens = file.shape("in.hidden_states")[0];
  Gate gate{linear(file.doubles("in.hidden_states"), tokens, Matrix(file.doubles(weight), experts, hidden)).value,
            {},
            tokens,
            {experts, file.number("num_experts_per_tok", 0), file.number("n_group", 1), file.number("topk_group", 1),
             file.text("norm_topk_prob", "false") == "true", std::stod(file.text("routed_scaling_factor", "1"))}};
  const std::string bias = "mlp.gate.e_score_correction_bias";
  if (file.contains(bias)) gate.bias = file.doubles(bias);
  const bool softmax = file.text("scoring_func", "") == "softmax";
  gate.config.policy.scoring = softmax ? Scoring::softmax : Scoring::sigmoid;
  gate.config.policy.group_score = softmax ? GroupScore::max : GroupScore::top2_sum;
  return gate;
}

/// The oracle's ids are ascending in each row.
std::vector<std::int32_t> ascending(std::vector<std::int32_t> ids, std::int64_t top_k) {
  for (auto row = ids.begin(); row != ids.end(); row += top_k) std::sort(row, row + top_k);
  return ids;
}

/// One row of ids or weights.
template <typename T>
std::vector<T> row(const std::vector<T>& values, std::int64_t t, std::int64_t width) {
  return {values.begin() + t * width, values.begin() + (t + 1) * width};
}

/// Compares the weights of the oracle's ids, in rows where `counts`.
template <typename Counts>
void expect_weights(const GoldenFile& file, const Gate& gate, const std::string& oracle, const Counts& counts) {
  const std::int64_t k = gate.config.top_k;
  const Routing routing = route(gate.logits, gate.bias, gate.tokens, gate.config);
  const std::vector<double> expected = file.doubles(oracle + ".topk_weights");
  const std::vector<double> actual =
      routing_weights(routing, gate.bias, file.integers(oracle + ".topk_ids"), gate.tokens, gate.config);
  const double largest = *std::max_element(expected.begin(), expected.end());
  for (std::int64_t i = 0; i < gate.tokens * k; ++i) {
    if (!counts(i / k)) continue;
    EXPECT_NEAR(actual[static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(i)], 1e-12 * largest)
        << oracle << " row " << i / k;
  }
}

/// Compares ids in rows that are no ties, and weights in all. Returns how many rows of ids were compared.
int expect_agrees(const GoldenFile& file, const Gate& gate, const std::string& oracle) {
  const std::int64_t k = gate.config.top_k;
  const std::vector<double> ties = file.doubles("diag.tie_rows");
  const std::vector<std::int32_t> expected = file.integers(oracle + ".topk_ids");
  const std::vector<std::int32_t> actual = ascending(route(gate.logits, gate.bias, gate.tokens, gate.config).ids, k);
  int compared = 0;
  for (std::int64_t t = 0; t < gate.tokens; ++t) {
    if (ties[static_cast<std::size_t>(t)] != 0) continue;
    EXPECT_EQ(row(actual, t, k), row(expected, t, k)) << oracle << " row " << t;
    ++compared;
  }
  expect_weights(file, gate, oracle, [](std::int64_t) { return true; });
  return compared;
}

struct File {
  const char* name;
  int rows;  ///< that are no ties
};
class GateFiles : public testing::TestWithParam<File> {};
INSTANTIATE_TEST_SUITE_P(Golden, GateFiles,
                         testing::Values(File{"dsv2_gate_01_g8k6", 17}, File{"dsv2_gate_02_greedy", 9},
                                         File{"dsv3_gate_19_v3_real_shape", 33}, File{"dsv3_gate_21_v3_shape_ties", 3},
                                         File{"qwen3_moe_03_nonorm", 13}, File{"qwen3_moe_05_peaked", 12},
                                         File{"mixtral_moe_01", 11}, File{"llama4_moe_02_t33_e16", 33},
                                         File{"llama4_moe_05_negative_logits", 10}),
                         [](const auto& file) { return std::string(file.param.name); });

TEST_P(GateFiles, AgreeWithEveryOracleInThem) {
  const GoldenFile file(GetParam().name);
  const Gate gate = load(file);
  int oracles = 0;
  for (const std::string oracle : {"hf.f64", "ds.f64", "vllm.f64"}) {
    if (!file.contains(oracle + ".topk_ids")) continue;
    EXPECT_EQ(expect_agrees(file, gate, oracle), GetParam().rows);
    ++oracles;
  }
  EXPECT_GE(oracles, 2);
}

TEST(Disagreement, MaskOfMinusInfinityIsDeepSeeksAndVllms) {
  const GoldenFile file("dsv3_moe_07_neg_bias_mask");
  const Gate gate = load(file);
  for (const char* oracle : {"ds.f64", "vllm.f64"}) EXPECT_EQ(expect_agrees(file, gate, oracle), gate.tokens);
}

TEST(Disagreement, MaskOfZeroIsHuggingFaces) {
  // All choices are negative, so that under a mask of 0 every expert outside the best group wins; which ones of these
  // 12 Hugging Face's unstable top-k takes has no rule, but none is in the best group, and the weights are those of its
  // ids.
  const GoldenFile file("dsv3_moe_07_neg_bias_mask");
  Gate gate = load(file);
  gate.config.policy.mask = MaskValue::zero;
  const Routing routing = route(gate.logits, gate.bias, gate.tokens, gate.config);
  const std::vector<std::int32_t> theirs = file.integers("hf.f64.topk_ids");
  const std::int64_t groups = gate.config.n_group, size = gate.config.experts / groups;
  for (std::int64_t t = 0; t < gate.tokens; ++t) {
    const std::vector<double> scores = row(routing.group_score, t, groups);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    for (const std::int32_t id : row(theirs, t, gate.config.top_k)) EXPECT_NE(id / size, best) << t;
    const std::vector<std::int32_t> lowest =
        best == 0 ? std::vector<std::int32_t>{4, 5, 6, 7} : std::vector<std::int32_t>{0, 1, 2, 3};
    EXPECT_EQ(row(routing.ids, t, gate.config.top_k), lowest) << t;
  }
  expect_weights(file, gate, "hf.f64", [](std::int64_t) { return true; });
}

TEST(Disagreement, EpsilonIsHuggingFacesWhereSumsUnderflow) {
  const GoldenFile file("dsv3_moe_11_saturated_sigmoid");
  Gate gate = load(file);
  const auto all = [](std::int64_t) { return true; };
  expect_weights(file, gate, "ds.f64", all);
  expect_weights(file, gate, "vllm.f64", all);
  gate.config.policy.norm_epsilon = 1e-20;
  expect_weights(file, gate, "hf.f64", all);
  // The two readings are far apart in rows 1 and 3: weights that sum to the factor, or next to nothing.
  const std::vector<double> theirs = file.doubles("hf.f64.topk_weights"), ours = file.doubles("ds.f64.topk_weights");
  for (const std::int64_t t : {1, 3}) {
    const std::vector<double> small = row(theirs, t, 4), whole = row(ours, t, 4);
    EXPECT_LT(std::accumulate(small.begin(), small.end(), 0.0), 1e-15);
    EXPECT_NEAR(std::accumulate(whole.begin(), whole.end(), 0.0), gate.config.factor, 1e-12);
  }
}

}  // namespace
}  // namespace moediff::reference
