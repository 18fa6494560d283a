// What can be wrong with a file, each told by place, value, rule and remedy.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

struct Damage {
  const char* what;
  const char* file;
  std::function<void(ReplayData&)> apply;
  const char* told;  ///< part of the first error's text
};

void set_config(ReplayData& data, const std::string& key, const std::string& value) {
  data.metadata.erase("config");
  data.metadata["cfg." + key] = value;
}

const std::vector<Damage>& damages() {
  static const std::string block = "dsv3_moe_02_g4k4_t7";
  static const std::vector<Damage> all{
      {"NoKind", block.c_str(), [](ReplayData& d) { d.metadata.erase("kind"); }, "must state its 'kind'"},
      {"UnknownKind", block.c_str(), [](ReplayData& d) { d.metadata["kind"] = "dsv3_mo"; }, "did you mean 'dsv3_moe'?"},
      {"ConfigIsNoJson", block.c_str(), [](ReplayData& d) { d.metadata["config"] = "{\"hidden_size\": 64"; },
       "metadata 'config' must be a JSON object"},
      {"ConfigNestsTooDeep", block.c_str(), [](ReplayData& d) { d.metadata["config"] = std::string(100000, '['); },
       "metadata 'config' must be a JSON object"},
      {"MissingSize", block.c_str(),
       [](ReplayData& d) {
         d.metadata.erase("config");
         d.metadata.erase("cfg.hidden_size");
       },
       "must have 'hidden_size'"},
      {"TooManyExpertsAToken", block.c_str(), [](ReplayData& d) { set_config(d, "num_experts_per_tok", "9"); },
       "must not exceed those of its 'topk_group' groups"},
      {"GroupsThatDoNotDivide", block.c_str(), [](ReplayData& d) { set_config(d, "n_group", "3"); },
       "must divide the number of experts"},
      {"ASizeOutOfRange", block.c_str(), [](ReplayData& d) { set_config(d, "n_routed_experts", "1000000000000"); },
       "a whole number from 1 to 4096"},
      {"ASizeThatIsNoNumber", block.c_str(), [](ReplayData& d) { set_config(d, "n_routed_experts", "16x"); },
       "a whole number from 1 to 4096"},
      {"AnUnknownActivation", block.c_str(), [](ReplayData& d) { set_config(d, "hidden_act", "relu2"); },
       "'hidden_act' must be"},
      {"MissingWeight", block.c_str(), [](ReplayData& d) { d.tensors.erase("mlp.experts.3.up_proj.weight"); },
       "mlp.experts.3.up_proj.weight"},
      {"MissingInput", block.c_str(), [](ReplayData& d) { d.tensors.erase("in.hidden_states"); }, "in.hidden_states"},
      {"WrongShape", block.c_str(),
       [](ReplayData& d) {
         d.tensors["mlp.gate.weight"] = Tensor(DType::f32, {64, 16});
       },
       "must have the shape [16, 64]"},
      {"WrongRank", block.c_str(),
       [](ReplayData& d) {
         d.tensors["in.hidden_states"] = Tensor(DType::f32, {1, 7, 64});
       },
       "must have 2 dimensions"},
      {"IntegersForNumbers", block.c_str(),
       [](ReplayData& d) {
         d.tensors["in.hidden_states"] = Tensor(DType::i32, {7, 64});
       },
       "must have a floating-point dtype"},
      {"NumbersForIds", block.c_str(),
       [](ReplayData& d) {
         d.tensors["hf.f64.topk_ids"] = Tensor(DType::f32, {7, 4});
       },
       "must have an integer dtype"},
      {"IdsOutOfRange", block.c_str(), [](ReplayData& d) { d.tensors["ds.f64.topk_ids"].as<std::int32_t>()[5] = 16; },
       "must be from 0 to 15"},
      {"NegativeIds", block.c_str(), [](ReplayData& d) { d.tensors["ds.f64.topk_ids"].as<std::int32_t>()[5] = -1; },
       "must be from 0 to 15"},
      {"ExpectedOfAnotherShape", block.c_str(),
       [](ReplayData& d) {
         d.tensors["hf.f64.final"] = Tensor(DType::f64, {7, 63});
       },
       "must have the shape [7, 64]"},
      {"AToleranceThatIsNoNumber", block.c_str(), [](ReplayData& d) { d.metadata["tolerance.final"] = "1e-6 "; },
       "must be a number from 0 to 0.1"},
      {"AToleranceThatNothingFails", block.c_str(), [](ReplayData& d) { d.metadata["tolerance.final"] = "1e9"; },
       "must be a number from 0 to 0.1"},
      {"AToleranceOfNothing", block.c_str(), [](ReplayData& d) { d.metadata["tolerance.finals"] = "1e-6"; },
       "must be that of a numeric check"},
      {"AToleranceForIds", block.c_str(), [](ReplayData& d) { d.metadata["tolerance.topk_ids"] = "0.1"; },
       "must be that of a numeric check"},
      {"APolicyThatIsNone", block.c_str(), [](ReplayData& d) { d.metadata["policy.hf"] = R"({"masc": "zero"})"; },
       "must have known policies only"},
      {"APolicyOfNobody", block.c_str(), [](ReplayData& d) { d.metadata["policy.fh"] = R"({"mask": "zero"})"; },
       "must be that of an oracle of the file"},
      {"APolicyWithAWrongValue", block.c_str(), [](ReplayData& d) { d.metadata["policy.hf"] = R"({"mask": "one"})"; },
       "must have one of its values"},
      {"APolicyWithoutItsBias", "qwen3_moe_03_nonorm",
       [](ReplayData& d) { d.metadata["policy.hf"] = R"({"weight_from": "choice_minus_bias"})"; }, "needs the bias"},
      {"CodesThatAreNumbers", "fp8_act_quant_01",
       [](ReplayData& d) {
         d.tensors["ds.q"] = Tensor(DType::f32, {12, 256});
       },
       "must hold bytes"},
      {"AFormatThatIsNone", "fp8_act_quant_01", [](ReplayData& d) { set_config(d, "fp8", "e3m4"); },
       "'fp8' must be e4m3fn or e4m3fnuz"},
      {"ABlockThatIsNoSquare", "fp8_block_gemm_01", [](ReplayData& d) { set_config(d, "block", "128x64"); },
       "must be square"},
      {"ScalesOfAnotherShape", "fp8_block_gemm_01",
       [](ReplayData& d) {
         d.tensors["b.weight_scale_inv"] = Tensor(DType::f32, {2, 3});
       },
       "must have the shape [2, 2]"},
      {"AWeightThatIsNotFinite", "fp8_weight_quant_01_192x160",
       [](ReplayData& d) { d.tensors["w"].as<float>()[3] = INFINITY; }, "must be finite"},
      {"ATableOfAnotherSize", "fp8_decode", [](ReplayData& d) { d.tensors["dec.e5m2"] = Tensor(DType::f32, {255}); },
       "must have the shape [256]"},
  };
  return all;
}

class Malformed : public testing::TestWithParam<Damage> {};

TEST_P(Malformed, IsToldByPlaceRuleAndRemedy) {
  ReplayData data = read_golden(GetParam().file);
  GetParam().apply(data);
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::malformed);
  ASSERT_FALSE(file.errors.empty());
  EXPECT_NE(to_string(file.errors[0]).find(GetParam().told), std::string::npos) << to_string(file.errors[0]);
  EXPECT_EQ(file.errors[0].place.file, file.path);
  EXPECT_FALSE(file.errors[0].rule.empty());
  EXPECT_FALSE(file.errors[0].remedy.empty());
  EXPECT_TRUE(file.checks.empty()) << "nothing is said about a file that cannot be trusted";
}

INSTANTIATE_TEST_SUITE_P(Files, Malformed, testing::ValuesIn(damages()),
                         [](const auto& damage) { return std::string(damage.param.what); });

TEST(MalformedFiles, AllMistakesAreToldAtOnce) {
  ReplayData data = read_golden("dsv3_moe_02_g4k4_t7");
  for (const char* name : {"mlp.experts.0.gate_proj.weight", "mlp.experts.7.down_proj.weight", "mlp.gate.weight"}) {
    data.tensors.erase(name);
  }
  EXPECT_EQ(replay(data).errors.size(), 3u);
}

TEST(MalformedFiles, AnUnknownKindListsTheKnownOnes) {
  ReplayData data = read_golden("dsv3_moe_02_g4k4_t7");
  data.metadata["kind"] = "something else";
  const FileReplay file = replay(data);
  ASSERT_EQ(file.errors.size(), 1u);
  for (const KindRow& row : kReplayKinds) {
    EXPECT_NE(file.errors[0].remedy.find(row.name), std::string::npos) << row.name;
  }
}

TEST(MalformedFiles, ATruncatedFileAndOneThatIsMissingAreMalformed) {
  const TemporaryPath cut;
  std::filesystem::copy_file(golden_path("fp8_encode"), cut.path());
  std::filesystem::resize_file(cut.path(), 40000);
  EXPECT_EQ(replay_file(cut.path()).verdict, ReplayVerdict::malformed);
  std::filesystem::resize_file(cut.path(), 0);
  EXPECT_EQ(replay_file(cut.path()).verdict, ReplayVerdict::malformed);
  EXPECT_EQ(replay_file("no/such/file").verdict, ReplayVerdict::malformed);
}

}  // namespace
}  // namespace moediff
