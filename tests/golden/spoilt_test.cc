// Every check can fail, and fails alone: of each kind a file in which one expected value at a time is spoilt.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

class Spoilt : public testing::TestWithParam<const char*> {};

std::set<std::string> failing(const FileReplay& file) {
  std::set<std::string> tensors;
  for (const Check& check : file.checks) {
    if (!check.pass) tensors.insert(check.expected);
  }
  return tensors;
}

TEST_P(Spoilt, ExactlyTheCheckOfTheSpoiltTensorFails) {
  const ReplayData healthy = read_golden(GetParam());
  const FileReplay passing = replay(healthy);
  ASSERT_EQ(passing.verdict, ReplayVerdict::pass);
  std::set<std::string> tensors;
  for (const Check& check : passing.checks) tensors.insert(check.expected);
  for (const std::string& tensor : tensors) {
    ReplayData data = healthy;
    spoil(data.tensors.at(tensor));
    const FileReplay file = replay(data);
    EXPECT_EQ(file.verdict, ReplayVerdict::fail) << tensor;
    EXPECT_EQ(failing(file), std::set<std::string>{tensor});
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Spoilt,
                         testing::Values("dsv3_moe_02_g4k4_t7", "dsv3_moe_07_neg_bias_mask", "dsv2_gate_01_g8k6",
                                         "qwen3_moe_03_nonorm", "mixtral_moe_01", "llama4_moe_02_t33_e16", "fp8_decode",
                                         "fp8_encode", "fp8_act_quant_01", "fp8_per_token_01_e4m3fn",
                                         "fp8_weight_quant_03_130x128", "fp8_block_gemm_01",
                                         "fp8_moe_vllm_04_b128_bf16", "fp8_ds_moe_02_sh2", "dsv3_layer_01_rope_default",
                                         "dsv3_lm_04_mask_disagreement", "qwen3_lm_01", "dsv3_mtp_01"),
                         [](const auto& name) { return std::string(name.param); });

TEST(SpoiltInputs, AWrongWeightFailsTheOutputsThatItTouches) {
  ReplayData data = read_golden("dsv3_moe_02_g4k4_t7");
  spoil(data.tensors.at("mlp.shared_experts.down_proj.weight"));
  EXPECT_EQ(failing(replay(data)), (std::set<std::string>{"hf.f64.shared_out", "hf.f64.final", "hf.f32.final",
                                                          "ds.f64.final", "ds.f32.final"}));
}

// One element off by a thousandth of the largest: the L2 distance of the whole is below its limit, but no rounding and
// no flipped code explains the element.
TEST(SpoiltOutputs, OurOwnBoundSeesASmallErrorThatTheL2DistanceDoesNot) {
  ReplayData data = read_golden("fp8_moe_vllm_01_b128");
  const Tensor& final = data.tensors.at("vllm.final");
  std::vector<double> values = to_doubles(final);
  values[77] += 1e-3 * *std::max_element(values.begin(), values.end());
  data.tensors["vllm.final"] = from_doubles(DType::f32, final.shape, values);
  int within_limit = 0, beyond_bound = 0;
  for (const Check& check : replay(data).checks) {
    if (check.expected != "vllm.final") continue;
    within_limit += check.name == "final" && check.pass;
    beyond_bound += check.name == "final within bound" && !check.pass;
  }
  EXPECT_EQ(within_limit, 1);
  EXPECT_EQ(beyond_bound, 1);
}

}  // namespace
}  // namespace moediff
