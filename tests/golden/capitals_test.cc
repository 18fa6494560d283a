// The MoE layers of the trained model under scenarios/models/capitals, on the activations of one real prompt, against
// results in double that its capture file carries (computed by a script that shares no code with this project).
#include <gtest/gtest.h>

#include <fstream>

#include "tests/golden/moe_layer.h"

namespace moediff {
namespace {

constexpr std::int64_t kTokens = 6;
constexpr double kTolerance = 1e-10;
const char* const kFolder = "scenarios/models/capitals/";

/// The value of a top-level key in the model's config.json, which has one key a line.
std::string config_value(const std::string& key) {
  std::ifstream in(std::string(kFolder) + "config.json");
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find("\"" + key + "\": ");
    if (at != std::string::npos) return line.substr(at + key.size() + 4);
  }
  throw std::runtime_error("config.json has no key " + key);
}

LayerConfig config() {
  const auto number = [](const char* key) { return std::stoll(config_value(key)); };
  return {.hidden = number("hidden_size"),
          .inter = number("moe_intermediate_size"),
          .experts = number("n_routed_experts"),
          .top_k = number("num_experts_per_tok"),
          .n_group = number("n_group"),
          .topk_group = number("topk_group"),
          .n_shared = number("n_shared_experts"),
          .norm_topk_prob = config_value("norm_topk_prob").rfind("true", 0) == 0,
          .factor = std::stod(config_value("routed_scaling_factor"))};
}

class Capitals : public testing::TestWithParam<int> {
 protected:
  Capitals()
      : capture(std::string(kFolder) + "capture_china.safetensors"),
        layer("layers." + std::to_string(GetParam()) + "."),
        x(doubles(capture, layer + "in.hidden_states", {kTokens, shape.hidden})),
        weights(
            load_layer(SafetensorsFile(std::string(kFolder) + "model.safetensors"), "model." + layer + "mlp.", shape)),
        routed(run_routed(weights, x, kTokens, shape)) {}

  std::vector<double> expected(const std::string& name, const Shape& extents) {
    return doubles(capture, layer + "expected.f64." + name, extents);
  }

  LayerConfig shape = config();
  SafetensorsFile capture;
  std::string layer;
  std::vector<double> x;
  LayerWeights weights;
  LayerOutput routed;
};

TEST_P(Capitals, AgreesOnTheRouting) {
  EXPECT_TRUE(agree(routed.router_logits, expected("router_logits", {kTokens, shape.experts}), kTolerance));
  EXPECT_EQ(routed.topk_ids, integers(capture, layer + "expected.topk_ids", {kTokens, shape.top_k}));
  EXPECT_TRUE(agree(routed.topk_weights, expected("topk_weights", {kTokens, shape.top_k}), kTolerance));
}

TEST_P(Capitals, AgreesOnTheExperts) {
  EXPECT_TRUE(agree(routed.expert_out, expected("expert_out", {kTokens, shape.top_k, shape.hidden}), kTolerance));
  EXPECT_TRUE(agree(routed.routed_out, expected("routed_out", {kTokens, shape.hidden}), kTolerance));
}

TEST_P(Capitals, AgreesOnTheLayersOutput) {
  const std::vector<double> shared = run_shared(weights, x, kTokens, shape);
  EXPECT_TRUE(agree(shared, expected("shared_out", {kTokens, shape.hidden}), kTolerance));
  EXPECT_TRUE(agree(sum(routed.routed_out, shared), expected("moe_out", {kTokens, shape.hidden}), kTolerance));
}

TEST_P(Capitals, AgreesWithTheFloatModelToFloatPrecision) {
  const std::vector<double> out = sum(routed.routed_out, run_shared(weights, x, kTokens, shape));
  EXPECT_TRUE(agree(out, doubles(capture, layer + "torch.f32.moe_out", {kTokens, shape.hidden}), 4e-6));
}

// The founding bug: the routed kernel overwrites the hidden states before the shared experts read them. In this capture
// they read the routed output with the scaling factor already in it.
TEST_P(Capitals, ReproducesTheFoundingBug) {
  const std::vector<double> buggy = expected("moe_out_if_shared_reads_routed", {kTokens, shape.hidden});
  const std::vector<double> shared_of_routed = run_shared(weights, routed.routed_out, kTokens, shape);
  EXPECT_TRUE(agree(sum(routed.routed_out, shared_of_routed), buggy, kTolerance));
}

TEST_P(Capitals, TellsTheFoundingBugFromTheHealthyLayerAndFromTheUnscaledVariant) {
  const std::vector<double> buggy = expected("moe_out_if_shared_reads_routed", {kTokens, shape.hidden});
  std::vector<double> unscaled = routed.routed_out;
  for (double& value : unscaled) value /= shape.factor;
  EXPECT_FALSE(agree(sum(routed.routed_out, run_shared(weights, unscaled, kTokens, shape)), buggy, 0.1));
  EXPECT_FALSE(agree(sum(routed.routed_out, run_shared(weights, x, kTokens, shape)), buggy, 0.1));
}

INSTANTIATE_TEST_SUITE_P(MoeLayers, Capitals, testing::Values(1, 2),
                         [](const auto& layer) { return "Layer" + std::to_string(layer.param); });

}  // namespace
}  // namespace moediff
