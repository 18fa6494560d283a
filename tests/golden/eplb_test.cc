// Placements that other people's balancers computed, read from JSON; and what such a file can get wrong.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

const char* const kFile = "tests/golden/data/eplb.json";

/// The file with one of its cases only.
Json only_case(std::size_t number) {
  Json json = Json::parse(std::ifstream(kFile));
  json["cases"] = Json::array({Json(json["cases"][number])});
  return json;
}
constexpr std::size_t kUniform = 1, kEqualLoads = 6;

FileReplay replay_text(const std::string& text) {
  const TemporaryPath file;
  const std::string path = file.path() + ".json";
  std::ofstream(path) << text;
  return replay_file(path);
}
FileReplay replay_json(const Json& json) { return replay_text(json.dump()); }

/// The names of the checks that fail.
std::vector<std::string> failing(const FileReplay& file) {
  std::vector<std::string> names;
  for (const Check& check : file.checks) {
    if (!check.pass) names.push_back(check.expected);
  }
  return names;
}

TEST(Eplb, EveryCaseIsMet) {
  const FileReplay file = replay_file(kFile);
  EXPECT_EQ(file.kind, "eplb");
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  EXPECT_EQ(failing(file), std::vector<std::string>{});
  int equal = 0, preserved = 0;
  for (const Check& check : file.checks) {
    equal += check.name == "phy2log" && check.expected.find("stable_sort") != std::string::npos;
    preserved += check.expected.find("vllm_preserve") != std::string::npos;
    EXPECT_GT(check.compared, 0) << check.expected;
  }
  EXPECT_EQ(equal, 17);
  EXPECT_EQ(preserved, 11);
}

struct Spoiling {
  const char* what;
  void (*apply)(Json& one);
  std::vector<std::string> failing;
};
const std::vector<Spoiling>& spoilings() {
  static const std::vector<Spoiling> all{
      {"Slots",
       [](Json& one) {
         std::swap(one["deepseek_stable_sort"]["phy2log"][0][0], one["deepseek_stable_sort"]["phy2log"][0][1]);
       },
       {"uniform.deepseek_stable_sort.phy2log"}},
      {"OrderOfReplicas",
       [](Json& one) {
         std::swap(one["deepseek_stable_sort"]["log2phy"][0][3][0], one["deepseek_stable_sort"]["log2phy"][0][3][1]);
       },
       {"uniform.deepseek_stable_sort.log2phy"}},
      {"OrderOfReplicasOfAnUnstableSort",
       [](Json& one) { std::swap(one["deepseek"]["log2phy"][0][3][0], one["deepseek"]["log2phy"][0][3][1]); },
       {}},
      {"Replicas", [](Json& one) { one["deepseek"]["logcnt"][1][2] = 7; }, {"uniform.deepseek.logcnt"}},
      {"Load", [](Json& one) { one["vllm"]["max_gpu_load"][0] = 696.001; }, {"uniform.vllm.max_gpu_load"}},
      {"KeptSlots",
       [](Json& one) { std::swap(one["vllm_preserve"]["phy2log"][0][2], one["vllm_preserve"]["phy2log"][0][3]); },
       {"uniform.vllm_preserve.phy2log"}},
  };
  return all;
}

class SpoiltEplb : public testing::TestWithParam<Spoiling> {};

TEST_P(SpoiltEplb, FailsInThatCheckAlone) {
  Json json = only_case(kUniform);
  json["cases"][0]["name"] = "uniform";
  GetParam().apply(json["cases"][0]);
  EXPECT_EQ(failing(replay_json(json)), GetParam().failing);
}

INSTANTIATE_TEST_SUITE_P(Cases, SpoiltEplb, testing::ValuesIn(spoilings()),
                         [](const auto& one) { return std::string(one.param.what); });

TEST(Eplb, TiesMayBeTakenOtherwise) {
  Json json = only_case(kEqualLoads);
  ASSERT_NE(json["cases"][0]["vllm"]["phy2log"], json["cases"][0]["deepseek"]["phy2log"]);
  EXPECT_EQ(replay_json(json).verdict, ReplayVerdict::pass);
  json["cases"][0]["tie_free"] = true;
  EXPECT_EQ(failing(replay_json(json)), std::vector<std::string>{"equal_07_L1_E16_r24_g4_n2_d8.vllm.phy2log"});
}

struct Damage {
  const char* what;
  void (*apply)(Json& one);
  const char* told;
};
const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"NoLoads", [](Json& one) { one.erase("weight"); }, "'weight' must hold loads"},
      {"RaggedLoads", [](Json& one) { one["weight"][1].erase(0); }, "'weight' must hold loads"},
      {"NegativeLoad", [](Json& one) { one["weight"][0][0] = -1; }, "'weight' must hold loads"},
      {"NoGpus", [](Json& one) { one.erase("num_gpus"); }, "'num_gpus' must be a whole number"},
      {"TooFewSlots", [](Json& one) { one["num_replicas"] = 8; }, "that holds all experts"},
      {"GroupsThatDoNotDivide", [](Json& one) { one["num_groups"] = 10; }, "'num_groups' must divide"},
      {"UnknownPolicy", [](Json& one) { one["policy"] = "local"; }, "'policy' must be global"},
      {"ExpertOutOfRange", [](Json& one) { one["deepseek"]["phy2log"][0][0] = 12; }, "'deepseek.phy2log' must be"},
      {"TooManyCopies", [](Json& one) { one["deepseek"]["log2phy"][0][0] = std::vector<int>(17, -1); },
       "'deepseek.log2phy' must be"},
      {"LoadThatIsNoNumber", [](Json& one) { one["vllm"]["max_gpu_load"][0] = "much"; }, "must be a number a layer"},
      {"NobodyToReorder", [](Json& one) { one.erase("vllm"); }, "must reorder the placement of 'vllm'"},
  };
  return all;
}

class DamagedEplb : public testing::TestWithParam<Damage> {};

TEST_P(DamagedEplb, IsToldByCaseRuleAndRemedy) {
  Json json = only_case(kUniform);
  GetParam().apply(json["cases"][0]);
  const FileReplay file = replay_json(json);
  EXPECT_EQ(file.verdict, ReplayVerdict::malformed);
  ASSERT_FALSE(file.errors.empty());
  EXPECT_NE(file.errors[0].rule.find(GetParam().told), std::string::npos) << file.errors[0].rule;
  EXPECT_NE(file.errors[0].rule.find("uniform_00_L2_E12_r16_g4_n2_d8"), std::string::npos);
  EXPECT_FALSE(file.errors[0].remedy.empty());
}

INSTANTIATE_TEST_SUITE_P(Damages, DamagedEplb, testing::ValuesIn(damages()),
                         [](const auto& one) { return std::string(one.param.what); });

TEST(Eplb, TextThatIsNoListOfCasesIsMalformed) {
  for (const char* text : {"", "{", "[]", "{}", R"({"cases": 3})", R"({"cases": [3]})"}) {
    EXPECT_EQ(replay_text(text).verdict, ReplayVerdict::malformed) << text;
  }
  EXPECT_EQ(replay_text(std::string(100000, '[')).verdict, ReplayVerdict::malformed);
  EXPECT_EQ(replay_file("tests/golden/data/none.json").verdict, ReplayVerdict::malformed);
  EXPECT_EQ(replay_text(R"({"cases": []})").verdict, ReplayVerdict::inconclusive);
}

}  // namespace
}  // namespace moediff
