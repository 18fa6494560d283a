// DeepSeek-V3 MoE layers as Hugging Face transformers (hf), DeepSeek's own code (ds) and vLLM compute them in double
// precision; see data/README.md. All stages, every file.
#include <gtest/gtest.h>

#include "tests/golden/moe_layer.h"

namespace moediff {
namespace {

constexpr double kTolerance = 1e-12;  // of the largest value: what these oracles agree to among themselves, with room

class Dsv3Moe : public testing::TestWithParam<const char*> {
 protected:
  Dsv3Moe()
      : file(std::string("tests/golden/data/dsv3_moe_") + GetParam() + ".safetensors"),
        config(config_of(file)),
        tokens(file.tensors().at("in.hidden_states").shape[0]),
        x(doubles(file, "in.hidden_states", {tokens, config.hidden})),
        weights(load_layer(file, "mlp.", config)),
        routed(run_routed(weights, x, tokens, config)),
        shared(run_shared(weights, x, tokens, config)) {}

  std::vector<double> expected(const std::string& name, const Shape& shape) { return doubles(file, name, shape); }
  bool from_deepseek() const { return file.contains("ds.f64.final"); }

  SafetensorsFile file;
  LayerConfig config;
  std::int64_t tokens;
  std::vector<double> x;
  LayerWeights weights;
  LayerOutput routed;
  std::vector<double> shared;
};

TEST_P(Dsv3Moe, HasNoTies) {  // so that the other tests may compare every row by id
  EXPECT_EQ(to_doubles(file.read("diag.tie_rows")), std::vector<double>(static_cast<std::size_t>(tokens)));
}

TEST_P(Dsv3Moe, AgreesOnTheRouterLogits) {
  EXPECT_TRUE(agree(routed.router_logits, expected("hf.f64.router_logits", {tokens, config.experts}), kTolerance));
}

TEST_P(Dsv3Moe, ChoosesTheSameExperts) {
  const Shape shape{tokens, config.top_k};
  EXPECT_EQ(routed.topk_ids, integers(file, "hf.f64.topk_ids", shape));
  EXPECT_EQ(routed.topk_ids, integers(file, "vllm.f64.topk_ids", shape));
  if (from_deepseek()) {
    EXPECT_EQ(routed.topk_ids, integers(file, "ds.f64.topk_ids", shape));
  }
}

TEST_P(Dsv3Moe, AgreesOnTheWeights) {
  const Shape shape{tokens, config.top_k};
  EXPECT_TRUE(agree(routed.topk_weights, expected("hf.f64.topk_weights", shape), kTolerance));
  EXPECT_TRUE(agree(routed.topk_weights, expected("vllm.f64.topk_weights", shape), kTolerance));
  if (from_deepseek()) {
    EXPECT_TRUE(agree(routed.topk_weights, expected("ds.f64.topk_weights", shape), kTolerance));
  }
}

TEST_P(Dsv3Moe, AgreesOnEveryExpertsOutput) {
  EXPECT_TRUE(agree(routed.expert_out, expected("hf.f64.expert_out_sorted", {tokens, config.top_k, config.hidden}),
                    kTolerance));
}

TEST_P(Dsv3Moe, AgreesOnTheRoutedSum) {
  EXPECT_TRUE(agree(routed.routed_out, expected("hf.f64.routed_out", {tokens, config.hidden}), kTolerance));
  EXPECT_TRUE(agree(routed.routed_out, expected("vllm.f64.routed_out", {tokens, config.hidden}), kTolerance));
}

TEST_P(Dsv3Moe, AgreesOnTheSharedExperts) {
  EXPECT_TRUE(agree(shared, expected("hf.f64.shared_out", {tokens, config.hidden}), kTolerance));
}

TEST_P(Dsv3Moe, AgreesOnTheLayersOutput) {
  const std::vector<double> final = sum(routed.routed_out, shared);
  EXPECT_TRUE(agree(final, expected("hf.f64.final", {tokens, config.hidden}), kTolerance));
  if (from_deepseek()) {
    EXPECT_TRUE(agree(final, expected("ds.f64.final", {tokens, config.hidden}), kTolerance));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Dsv3Moe,
                         testing::Values("01_t1_nogroup", "02_g4k4_t7", "03_g8_of_2_t33_sh2", "06_large_bias",
                                         "10_kimi_like", "12_topkgroup_all", "14_nonorm_scale_t33", "18_k1"),
                         [](const auto& file) { return std::string(file.param); });

}  // namespace
}  // namespace moediff
