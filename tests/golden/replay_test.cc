// Every file of results that other people's code computed is met, by the rule of its kind.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MOEDIFF_SOURCE_DIR "/tests/golden/data")) {
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, IsMetInEveryCheckAndNothingInItIsLeftUnused) {
  const FileReplay file = replay_file(golden_path(GetParam()));
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  EXPECT_GE(file.checks.size(), 4u);
  EXPECT_EQ(file.unchecked, std::vector<std::string>{});
  for (const Error& error : file.errors) ADD_FAILURE() << to_string(error);
  for (const Check& check : file.checks) {
    EXPECT_TRUE(check.pass) << check.expected << ": " << check.measured << " > " << check.limit << " (" << check.rule
                            << ") " << check.note;
    EXPECT_GT(check.compared, 0) << check.expected;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_names()), [](const auto& name) { return name.param; });

TEST(GoldenFiles, ThereIsOneOfEveryKind) {
  std::map<std::string, int> files;
  for (const std::string& name : golden_names()) ++files[replay_file(golden_path(name)).kind];
  for (const KindRow& row : kReplayKinds) EXPECT_GE(files[std::string(row.name)], 1) << row.name;
}

const Check& check_of(const FileReplay& file, const std::string& tensor) {
  static const Check none;
  for (const Check& check : file.checks) {
    if (check.expected == tensor) return check;
  }
  ADD_FAILURE() << "no check of " << tensor;
  return none;
}

// What a file expects must be compared in full: a check that leaves rows out compares less and still passes.
TEST(GoldenFiles, RowsAreLeftOutOnlyWhereFloat32CannotHoldTheSumOfScores) {
  const FileReplay file = replay_file(golden_path("dsv3_moe_11_saturated_sigmoid"));
  EXPECT_EQ(check_of(file, "ds.f64.final").compared, 6 * 64);
  EXPECT_EQ(check_of(file, "hf.f32.final").compared, 6 * 64) << "1e-20 keeps the sum";
  EXPECT_EQ(check_of(file, "ds.f32.final").compared, 4 * 64) << "0 / 0 and subnormal numbers";
  EXPECT_EQ(check_of(file, "ds.f32.topk_ids").compared, 6);
}

TEST(GoldenFiles, WhereOraclesDisagreeEachIsMetByItsOwnPolicy) {
  for (const char* name : {"dsv3_moe_07_neg_bias_mask", "dsv3_moe_11_saturated_sigmoid"}) {
    ReplayData data = read_golden(name);
    EXPECT_EQ(replay(data).verdict, ReplayVerdict::pass) << name;
    data.metadata["policy.hf"] = R"({"mask": "neg_inf", "norm_epsilon": 0})";  // DeepSeek's
    EXPECT_EQ(replay(data).verdict, ReplayVerdict::fail) << name;
  }
}

}  // namespace
}  // namespace moediff
