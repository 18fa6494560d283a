// Files that nobody has seen: made here, of other oracles, with policies, tolerances and sizes of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

/// The same file with another name for an oracle.
ReplayData renamed(ReplayData data, const std::string& from, const std::string& to) {
  std::map<std::string, Tensor> tensors;
  for (auto& [name, tensor] : data.tensors) {
    const bool fits = name.rfind(from + ".", 0) == 0;
    tensors[fits ? to + name.substr(from.size()) : name] = std::move(tensor);
  }
  data.tensors = std::move(tensors);
  return data;
}

std::size_t checks_of(const FileReplay& file, const std::string& oracle) {
  std::size_t count = 0;
  for (const Check& check : file.checks) count += check.expected.rfind(oracle + ".", 0) == 0;
  return count;
}

TEST(ForeignFile, AnOracleOfAnyNameIsChecked) {
  const ReplayData data = renamed(read_golden("dsv3_moe_02_g4k4_t7"), "vllm", "somebody-else");
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  EXPECT_EQ(checks_of(file, "somebody-else"), 5u);
  EXPECT_EQ(checks_of(file, "vllm"), 0u);
}

TEST(ForeignFile, AnUnknownOracleHasTheDefaultPolicyUnlessTheFileStatesOne) {
  ReplayData data = renamed(read_golden("dsv3_moe_07_neg_bias_mask"), "hf", "theirs");
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::fail) << "its groups that are out count as 0";
  data.metadata["policy.theirs"] = R"({"mask": "zero", "norm_epsilon": 1e-20})";
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::pass);
}

TEST(ForeignFile, TheConfigurationMayStandInSingleEntries) {
  ReplayData data = read_golden("mixtral_moe_01");
  data.metadata.erase("config");
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::pass);
  for (auto& [key, value] : data.metadata) {
    if (key == "cfg.hidden_size") value = "63";
  }
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::malformed);
}

TEST(ForeignFile, ATieWithoutIdsIsLeftOutOfTheOutputs) {
  ReplayData data = read_golden("qwen3_moe_08_zero_rows");
  for (const char* oracle : {"hf.f64", "hf.f32"}) {
    data.tensors.erase(std::string(oracle) + ".topk_ids");
    data.tensors.erase(std::string(oracle) + ".topk_ids_raw");
  }
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  for (const Check& check : file.checks) {
    if (check.expected == "hf.f64.final") {
      EXPECT_EQ(check.compared, 6 * 64) << "two rows are ties";
      EXPECT_NE(check.note.find("2 of 8 rows left out"), std::string::npos) << check.note;
    }
  }
}

// Experts 2i and 2i + 1 are clones; here the gates of a pair differ by one unit in the last place of a small weight, so
// that their scores differ by less than 1e-9, either way. The oracle took what it took.
ReplayData with_nearly_cloned_gates() {
  ReplayData data = read_golden("dsv3_moe_08_ties_cloned_experts");
  const std::span<float> gate = data.tensors.at("mlp.gate.weight").as<float>();
  for (std::size_t e = 0; e < 16; e += 2) {
    const auto row = gate.subspan(e * 64, 64);
    float& smallest =
        *std::min_element(row.begin(), row.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    smallest = std::nextafter(smallest, 1.0F);
  }
  return data;
}

TEST(ForeignFile, ANearTieMayBeTakenEitherWayOnlyInRowsThatTheFileCallsTies) {
  const auto wrong_rows = [](const ReplayData& data, const std::string& tensor) {
    for (const Check& check : replay(data).checks) {
      if (check.expected == tensor) return check.measured;
    }
    return -1.0;
  };
  ReplayData data = with_nearly_cloned_gates();
  EXPECT_EQ(wrong_rows(data, "hf.f64.topk_ids"), 0) << "every row is called a tie";
  const Shape rows{data.tensors.at("diag.tie_rows").size()};
  data.tensors["diag.tie_rows"] = Tensor(DType::u8, rows);
  EXPECT_GT(wrong_rows(data, "hf.f64.topk_ids"), 0) << "no row is";
  EXPECT_GT(wrong_rows(data, "hf.f32.topk_ids"), 0);
  data.tensors.erase("diag.tie_rows");
  EXPECT_EQ(wrong_rows(data, "hf.f32.topk_ids"), 0) << "a file that names no rows leaves float32 its own ties";
}

TEST(ForeignFile, AToleranceOfTheFileGoesBeforeTheRule) {
  ReplayData data = read_golden("dsv3_moe_01_t1_nogroup");
  std::vector<double> values = to_doubles(data.tensors.at("ds.f64.final"));
  for (double& value : values) value *= 1 + 1e-6;
  data.tensors["ds.f64.final"] = from_doubles(DType::f64, {1, 64}, values);
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::fail);
  data.metadata["tolerance.ds.f64.final"] = "2e-6";
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::pass);
  data.metadata["tolerance.ds.f64.final"] = "5e-7";
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::fail);
}

TEST(ForeignFile, WhatNobodyAsksForIsListed) {
  ReplayData data = read_golden("dsv3_moe_01_t1_nogroup");
  data.tensors["hf.f64.attn_probs"] = Tensor(DType::f64, {2});
  const FileReplay file = replay(data);
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  EXPECT_EQ(file.unchecked, std::vector<std::string>{"hf.f64.attn_probs"});
}

TEST(ForeignFile, AFileThatExpectsNothingIsInconclusive) {
  ReplayData data = read_golden("dsv3_moe_01_t1_nogroup");
  for (auto it = data.tensors.begin(); it != data.tensors.end();) {
    const bool input = it->first.rfind("mlp.", 0) == 0 || it->first.rfind("in.", 0) == 0;
    it = input ? std::next(it) : data.tensors.erase(it);
  }
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::inconclusive);
}

TEST(ForeignFile, NoTokensAreNothingCompared) {
  ReplayData data = read_golden("dsv3_moe_02_g4k4_t7");
  for (auto& [name, tensor] : data.tensors) {
    if (!tensor.shape.empty() && tensor.shape[0] == 7) tensor = slice_rows(tensor, 0, 0);
  }
  EXPECT_EQ(replay(data).verdict, ReplayVerdict::inconclusive);
}

}  // namespace
}  // namespace moediff
