// Where Hugging Face and DeepSeek's code disagree, each is met by its own policy and not by the other's; and what else
// a decoder's file can say.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

/// How many checks of this oracle fail.
std::ptrdiff_t failures(const FileReplay& file, const std::string& oracle) {
  EXPECT_NE(file.verdict, ReplayVerdict::malformed);
  return std::count_if(file.checks.begin(), file.checks.end(),
                       [&](const Check& check) { return !check.pass && check.expected.rfind(oracle + ".", 0) == 0; });
}

TEST(DecoderPolicies, MscalesThatDifferAreReadInTwoWays) {
  ReplayData data = read_golden("dsv3_layer_05_yarn_mscale_differs");
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::pass);
  data.metadata["policy.hf"] = R"({"yarn_magnitude": "one"})";
  data.metadata["policy.ds"] = R"({"yarn_magnitude": "ratio"})";
  const FileReplay swapped = replay(data);
  EXPECT_GE(failures(swapped, "hf"), 6) << "cos, sin, attention_scaling, attn_out, mlp, final";
  EXPECT_GE(failures(swapped, "ds"), 6);
}

TEST(DecoderPolicies, EqualMscalesAreReadInOneWay) {
  ReplayData data = read_golden("dsv3_layer_02_yarn");
  data.metadata["policy.hf"] = R"({"yarn_magnitude": "one"})";
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::pass);
}

TEST(DecoderPolicies, TheMaskDecidesWhatAModelSays) {
  ReplayData data = read_golden("dsv3_lm_04_mask_disagreement");
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::pass);
  data.metadata["policy.hf"] = R"({"mask": "neg_inf", "norm_epsilon": 0})";
  data.metadata["policy.ds"] = R"({"mask": "zero", "norm_epsilon": 1e-20})";
  const FileReplay swapped = replay(data);
  EXPECT_GE(failures(swapped, "hf"), 3) << "logits";
  EXPECT_GE(failures(swapped, "ds"), 1) << "logits of the generated tokens";
}

TEST(DecoderPolicies, AnMtpModuleMayKeepItsFirstEmbedding) {
  ReplayData data = read_golden("dsv3_mtp_01");
  data.metadata["policy.hf"] = R"({"mtp_mask_first": false})";
  const FileReplay file = replay(data);
  EXPECT_EQ(failures(file, "hf"), 8) << "all but those at later positions";
  for (const Check& check : file.checks) {
    EXPECT_EQ(check.pass, check.expected.find(".pos1.") != std::string::npos) << check.expected;
  }
}

TEST(DecoderFiles, ALayerStartsWhereTheFileSays) {
  ReplayData data = read_golden("dsv3_layer_01_rope_default");
  data.metadata["position_ids_start"] = "3";
  const FileReplay file = replay(data);
  for (const Check& check : file.checks) {  // attention knows distances only
    const bool table = check.name.find("cos") != std::string::npos || check.name.find("sin") != std::string::npos;
    EXPECT_EQ(check.pass, !table) << check.expected;
  }
}

TEST(DecoderFiles, AnotherLayerHasAnotherBlock) {
  ReplayData data = read_golden("dsv3_layer_01_rope_default");
  data.metadata["layer_idx"] = "0";
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::malformed);
  ASSERT_FALSE(file.errors.empty());
  EXPECT_NE(file.errors[0].rule.find("mlp.gate_proj.weight"), std::string::npos) << "dense before layer 1";
}

/// Both sequences of a batch, the second the first again.
Tensor doubled(const Tensor& tensor) {
  Tensor out = tensor;
  out.shape[0] *= 2;
  out.data.insert(out.data.end(), tensor.data.begin(), tensor.data.end());
  return out;
}

TEST(DecoderFiles, ALayerMayHaveSeveralSequences) {
  ReplayData data = read_golden("dsv3_layer_02_yarn");
  for (auto& [name, tensor] : data.tensors) {
    const bool by_token = tensor.shape.size() > 1 && (tensor.shape[0] == 1 || name.find("topk") != std::string::npos);
    const bool table = name.find(".cos") != std::string::npos || name.find(".sin") != std::string::npos;
    if (by_token && !table) tensor = doubled(tensor);
  }
  ASSERT_EQ(data.tensors.at("in.hidden_states").shape[0], 2);
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  for (const Check& check : file.checks) EXPECT_TRUE(check.pass) << check.expected;
  EXPECT_EQ(file.unchecked, std::vector<std::string>{});
}

TEST(DecoderFiles, ATiedHeadIsTheEmbedding) {
  ReplayData data = read_golden("qwen3_lm_01");
  data.metadata.erase("config");
  data.metadata["cfg.tie_word_embeddings"] = "true";
  data.tensors.erase("lm_head.weight");
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::fail) << "of another head";
  for (const Check& check : file.checks) {
    EXPECT_EQ(check.pass, check.name.find("hidden_states") != std::string::npos) << check.expected;
  }
}

TEST(DecoderFiles, AWrongWeightShowsFromItsLayerOn) {
  ReplayData data = read_golden("dsv3_lm_01");
  spoil(data.tensors.at("model.layers.1.self_attn.o_proj.weight"));
  std::map<std::string, bool> pass;
  for (const Check& check : replay(data).checks) pass[check.expected] = check.pass;
  EXPECT_TRUE(pass.at("hf.f64.hidden_states.0"));
  EXPECT_TRUE(pass.at("hf.f64.hidden_states.1"));
  EXPECT_FALSE(pass.at("hf.f64.hidden_states.2"));
  EXPECT_FALSE(pass.at("hf.f64.logits"));
}

}  // namespace
}  // namespace moediff
