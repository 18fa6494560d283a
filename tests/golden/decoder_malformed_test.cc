// What can be wrong with a decoder's file, each told by value, rule and remedy, and nothing computed from it.
#include <gtest/gtest.h>

#include <functional>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

struct Damage {
  const char* what;
  const char* file;
  std::function<void(ReplayData&)> apply;
  const char* told;  ///< part of an error's rule
};

constexpr const char* kLayer = "dsv3_layer_01_rope_default";
constexpr const char* kYarn = "dsv3_layer_02_yarn";
constexpr const char* kModel = "dsv3_lm_01";
constexpr const char* kQwen = "qwen3_lm_01";
constexpr const char* kMtp = "dsv3_mtp_01";

/// The configuration in single entries, with one changed.
std::function<void(ReplayData&)> configured(const char* key, const char* value) {
  return [=](ReplayData& data) {
    data.metadata.erase("config");
    data.metadata[std::string("cfg.") + key] = value;
  };
}
std::function<void(ReplayData&)> without(const char* tensor) {
  return [=](ReplayData& data) { data.tensors.erase(tensor); };
}
std::function<void(ReplayData&)> stating(const char* key, const char* value) {
  return [=](ReplayData& data) { data.metadata[key] = value; };
}

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"NoLatentRank", kLayer, configured("kv_lora_rank", "0"), "kv_lora_rank' must be a whole number from 1"},
      {"OddRotation", kLayer, configured("qk_rope_head_dim", "7"), "must be of even size"},
      {"GroupsThatDoNotDivide", kLayer, configured("n_group", "3"), "must divide the number of experts"},
      {"AnotherActivation", kLayer, configured("hidden_act", "gelu"), "'hidden_act' must be silu"},
      {"AttentionWithBias", kLayer, configured("attention_bias", "true"), "'attention_bias' must be false"},
      {"AnotherRotation", kYarn, configured("rope_scaling", R"({"type": "llama3", "factor": 2})"),
       "'rope_scaling' must be null, of type default or of type yarn"},
      {"ScalingThatIsNoJson", kYarn, configured("rope_scaling", "{"), "'rope_scaling' must be null"},
      {"NegativeFactor", kYarn, configured("rope_scaling", R"({"type": "yarn", "factor": -4})"),
       "'factor' of 'rope_scaling' must be a number from"},
      {"YarnWithoutTruncation", kYarn,
       configured("rope_scaling", R"({"type": "yarn", "factor": 4, "truncate": false})"),
       "'truncate' of 'rope_scaling' must be true"},
      {"LayerThatIsNoNumber", kLayer, stating("layer_idx", "one"), "metadata 'layer_idx' must be a whole number"},
      {"MissingProjection", kLayer, without("self_attn.kv_b_proj.weight"),
       "'self_attn.kv_b_proj.weight' of shape [112, 16]"},
      {"WrongShape", kLayer,
       [](ReplayData& data) {
         data.tensors["self_attn.o_proj.weight"] = Tensor(DType::f32, {48, 64});
       },
       "'self_attn.o_proj.weight' of shape [64, 48]"},
      {"ExpectedOfAnotherShape", kLayer,
       [](ReplayData& data) {
         data.tensors["hf.f64.attn_probs"] = Tensor(DType::f64, {1, 4, 9, 8});
       },
       "hf.f64.attn_probs"},
      {"UnknownPolicy", kLayer, stating("policy.ds", R"({"yarn": "one"})"), "must have known policies only"},
      {"UnknownMagnitude", kLayer, stating("policy.ds", R"({"yarn_magnitude": "two"})"),
       "'yarn_magnitude' must have one of its values"},
      {"NoVocabulary", kModel, configured("vocab_size", ""), "vocab_size' must be a whole number"},
      {"MoreLayersThanThereAre", kModel, configured("num_hidden_layers", "4"), "'model.layers.3."},
      {"HugeSizes", kModel,
       [](ReplayData& data) {
         configured("vocab_size", "1000000")(data);
         configured("hidden_size", "65536")(data);
         configured("intermediate_size", "65536")(data);
         configured("n_routed_experts", "4096")(data);
       },
       "of shape"},
      {"TokenOutOfRange", kModel, [](ReplayData& data) { data.tensors["in.input_ids"].as<std::int32_t>()[3] = 96; },
       "must be from 0 to 95"},
      {"TwoPrompts", kModel,
       [](ReplayData& data) {
         data.tensors["in.input_ids"] = Tensor(DType::i32, {2, 12});
       },
       "in.input_ids"},
      {"AsManyTokensAsLogits", kModel,
       [](ReplayData& data) { data.tensors["hf.f64.greedy_tokens"] = Tensor(DType::i32, {15}); },
       "must have the shape"},
      {"EndlessGeneration", kModel,
       [](ReplayData& data) { data.tensors["ds.f32.greedy_tokens"] = Tensor(DType::i32, {4097}); },
       "at most 4096 tokens"},
      {"LongGeneration", kModel,
       [](ReplayData& data) { data.tensors["ds.f32.greedy_tokens"] = Tensor(DType::i32, {2000}); },
       "generation must be of a size that can be replayed"},
      {"HeadsThatDoNotDivide", kQwen, configured("num_key_value_heads", "3"), "must divide the number of heads"},
      {"LayersThatAreNoList", kQwen, configured("mlp_only_layers", "[\"a\"]"), "must be a list of layers"},
      {"NoHead", kQwen, without("lm_head.weight"), "'lm_head.weight' of shape [96, 64]"},
      {"NoHiddenStates", kMtp, without("in.previous_hidden_states"), "in.previous_hidden_states"},
      {"NoNorm", kMtp, without("model.layers.1.enorm.weight"), "'model.layers.1.enorm.weight' of shape [64]"},
  };
  return all;
}

class DamagedDecoder : public testing::TestWithParam<Damage> {};

TEST_P(DamagedDecoder, IsToldAndNothingIsComputed) {
  ReplayData data = read_golden(GetParam().file);
  GetParam().apply(data);
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::malformed);
  EXPECT_TRUE(file.checks.empty());
  bool told = false;
  for (const Error& error : file.errors) {
    told = told || to_string(error).find(GetParam().told) != std::string::npos;
    EXPECT_FALSE(error.rule.empty());
    EXPECT_FALSE(error.remedy.empty());
  }
  EXPECT_TRUE(told) << (file.errors.empty() ? "no error" : to_string(file.errors[0]));
}

INSTANTIATE_TEST_SUITE_P(Damages, DamagedDecoder, testing::ValuesIn(damages()),
                         [](const auto& one) { return std::string(one.param.what); });

TEST(DecoderFiles, NoTokensAreNothingCompared) {
  ReplayData data = read_golden(kLayer);
  for (auto& [name, tensor] : data.tensors) {
    if (name == "in.hidden_states") tensor = Tensor(DType::f32, {1, 0, 64});
  }
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::malformed) << "the expected tensors have tokens";
  for (auto it = data.tensors.begin(); it != data.tensors.end();) {
    const bool kept = it->first.rfind("hf.", 0) != 0 && it->first.rfind("ds.", 0) != 0;
    it = kept ? std::next(it) : data.tensors.erase(it);
  }
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::inconclusive);
}

}  // namespace
}  // namespace moediff
