// The gate alone at DeepSeek-V3's real routing shape: 256 experts, 8 groups of which 4, top 8.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/golden/moe_layer.h"

namespace moediff {
namespace {

TEST(Dsv3Gate, AgreesAtTheRealShape) {
  const SafetensorsFile file("tests/golden/data/dsv3_gate_19_v3_real_shape.safetensors");
  const LayerConfig config = config_of(file);
  ASSERT_EQ(config.experts, 256);
  const std::int64_t tokens = file.tensors().at("in.hidden_states").shape[0];
  const Shape shape{tokens, config.top_k};
  const std::vector<double> x = doubles(file, "in.hidden_states", {tokens, config.hidden});
  const std::vector<double> bias = doubles(file, "mlp.gate.e_score_correction_bias", {config.experts});

  const reference::Terms logits = reference::linear(x, tokens, load_gate(file, "mlp.", config));
  const reference::Routing routing = reference::route(logits.value, bias, tokens, router_config(config));
  std::vector<std::int32_t> ids = routing.ids;
  for (auto row = ids.begin(); row != ids.end(); row += config.top_k) std::sort(row, row + config.top_k);
  const std::vector<double> weights = reference::routing_weights(routing.score, ids, tokens, router_config(config));

  EXPECT_EQ(to_doubles(file.read("diag.tie_rows")), std::vector<double>(static_cast<std::size_t>(tokens)));
  EXPECT_TRUE(agree(logits.value, doubles(file, "hf.f64.router_logits", {tokens, config.experts}), 1e-12));
  for (const std::string oracle : {"hf", "ds", "vllm"}) {
    EXPECT_EQ(ids, integers(file, oracle + ".f64.topk_ids", shape)) << oracle;
    EXPECT_TRUE(agree(weights, doubles(file, oracle + ".f64.topk_weights", shape), 1e-12)) << oracle;
  }
}

}  // namespace
}  // namespace moediff
