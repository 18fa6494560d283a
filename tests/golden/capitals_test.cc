// The MoE layers of the trained model under scenarios/models/capitals, on the activations of one real prompt, against
// results in double that its capture file carries (computed by a script that shares no code with this project): made
// into a file to replay.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "harness/core/safetensors.h"
#include "harness/replay/block.h"
#include "harness/replay/kinds.h"
#include "harness/replay/routing.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

constexpr std::int64_t kTokens = 6, kHidden = 128;
const std::string kFolder = "scenarios/models/capitals/";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Names in the capture, and in the file to replay.
struct Renaming {
  const char* from;
  const char* to;
};
constexpr Renaming kRenamings[] = {{"in.hidden_states", "in.hidden_states"},
                                   {"expected.f64.router_logits", "script.f64.router_logits"},
                                   {"expected.topk_ids", "script.f64.topk_ids"},
                                   {"expected.f64.topk_weights", "script.f64.topk_weights"},
                                   {"expected.f64.expert_out", "script.f64.expert_out_sorted"},
                                   {"expected.f64.routed_out", "script.f64.routed_out"},
                                   {"expected.f64.shared_out", "script.f64.shared_out"},
                                   {"expected.f64.moe_out", "script.f64.final"},
                                   {"torch.f32.moe_out", "torch.f32.final"}};

class Capitals : public testing::TestWithParam<int> {
 protected:
  Capitals() : capture(kFolder + "capture_china.safetensors") {
    data.metadata = {{"kind", "dsv3_moe"}, {"config", text_of(kFolder + "config.json")}};
    for (const Renaming& name : kRenamings) data.tensors[name.to] = capture.read(layer + name.from);
    const SafetensorsFile model(kFolder + "model.safetensors");
    const std::string prefix = "model." + layer;
    for (const auto& entry : model.tensors()) {
      if (entry.first.rfind(prefix + "mlp.", 0) != 0) continue;
      data.tensors[entry.first.substr(prefix.size())] = model.read(entry.first);
    }
  }

  /// The block as replay reads it.
  Block block() const {
    const TemporaryPath path;
    write_safetensors(path.path(), data.tensors, data.metadata);
    ReplayFile file(path.path());
    return load_block(file, kBlockFamilies[0]);
  }

  const std::string layer = "layers." + std::to_string(GetParam()) + ".";
  SafetensorsFile capture;
  ReplayData data;
};

TEST_P(Capitals, AgreeInEveryStage) {
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  EXPECT_EQ(file.checks.size(), 8u);
  for (const Check& check : file.checks) {
    EXPECT_TRUE(check.pass) << check.expected << ": " << check.measured << " > " << check.limit << " " << check.note;
  }
}

/// The layer's output when the shared experts read `factor` times the routed output instead of the hidden states.
std::vector<double> with_shared_of_routed(const Block& block, const ReplayData& data, double factor) {
  const MoeWeights weights = moe_weights(block);
  const Tensor& ids = data.tensors.at("script.f64.topk_ids");
  const std::vector<double> topk_weights = to_doubles(data.tensors.at("script.f64.topk_weights"));
  const Routed routed = routed_experts(weights, block.x, ids.as<std::int32_t>(), topk_weights, kTokens, 4, {});
  std::vector<double> read = routed.routed_out;
  for (double& value : read) value *= factor;
  return sum(routed.routed_out, shared_experts(weights, read, kTokens, {}), DType::f64);
}

Check against(const std::vector<double>& expected, const std::vector<double>& actual) {
  return compare_values({"", "", "f64", ""}, expected, {actual, kTokens}, {Measure::of_largest, 1e-12});
}

// The founding bug: the routed kernel overwrites the hidden states before the shared experts read them. In this capture
// they read the routed output with the scaling factor already in it.
TEST_P(Capitals, ReproduceTheFoundingBugAndTellItFromItsUnscaledVariant) {
  const Block layer_block = block();
  const std::vector<double> buggy = to_doubles(capture.read(layer + "expected.f64.moe_out_if_shared_reads_routed"));
  EXPECT_TRUE(against(buggy, with_shared_of_routed(layer_block, data, 1)).pass);
  EXPECT_GT(against(buggy, with_shared_of_routed(layer_block, data, 1 / 2.5)).measured, 0.1);
  EXPECT_GT(against(buggy, to_doubles(data.tensors.at("script.f64.final"))).measured, 0.1);
}

INSTANTIATE_TEST_SUITE_P(MoeLayers, Capitals, testing::Values(1, 2),
                         [](const auto& number) { return "Layer" + std::to_string(number.param); });

}  // namespace
}  // namespace moediff
