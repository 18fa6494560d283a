// `moediff replay` as a user runs it: exit status, what is printed where, the JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/core/safetensors.h"
#include "tests/cli/program.h"
#include "tests/golden/replay_data.h"
#include "tests/unit/reports/schema_validator.h"

namespace moediff::cli {
namespace {

const std::string kGood = golden_path("dsv3_moe_01_t1_nogroup");

/// A file in `folder` of which one expected value is wrong, one that expects nothing, and one that is cut.
std::string failing(const Folder& folder) {
  ReplayData data = read_golden("dsv3_moe_01_t1_nogroup");
  spoil(data.tensors.at("hf.f64.final"));
  write_safetensors(folder.path() + "/failing", data.tensors, data.metadata);
  return folder.path() + "/failing";
}
std::string empty(const Folder& folder) {
  write_safetensors(folder.path() + "/empty", {}, {{"kind", "fp8_decode"}});
  return folder.path() + "/empty";
}
std::string broken(const Folder& folder) { return folder.write("broken", "no safetensors"); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Replay, FilesThatAreMetEndWith0AndALineEach) {
  const Result result = moediff("replay " + kGood + " " + golden_path("fp8_decode"));
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_TRUE(has(result.out, "dsv3_moe_01_t1_nogroup.safetensors (dsv3_moe): "));
  EXPECT_TRUE(has(result.out, "2 files: 2 pass\n")) << result.out;
  EXPECT_FALSE(has(result.out, "measured")) << "checks that hold are for --verbose";
  EXPECT_EQ(result.err, "");
}

TEST(Replay, VerboseShowsExpectedMeasuredAndLimitOfEveryCheck) {
  const Result result = moediff("replay -v " + kGood);
  EXPECT_TRUE(has(result.out, "final (hf.f64.final): measured ")) << result.out;
  EXPECT_TRUE(has(result.out, "limit 1e-12 (largest difference / largest expected magnitude; 64 compared)"));
  EXPECT_TRUE(has(result.out, "candidate as ds: final (ds.f64.final): measured "));
}

TEST(Replay, ADisagreementEndsWith1AndIsShown) {
  const Folder folder;
  const Result result = moediff("replay " + failing(folder));
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(has(result.out, "FAIL")) << result.out;
  EXPECT_TRUE(has(result.out, "final (hf.f64.final): measured 0.5")) << result.out;
  EXPECT_TRUE(has(result.out, "worst at [0, ")) << result.out;
}

TEST(Replay, AFileThatCannotBeReadEndsWith2AndStopsNoOther) {
  const Folder folder;
  const std::string path = broken(folder);
  const Result result = moediff("replay " + path + " " + kGood);
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(has(result.err, path + ": error: ")) << result.err;
  EXPECT_TRUE(has(result.out, "2 files: 1 pass 1 malformed")) << result.out;
}

TEST(Replay, NothingComparedEndsWith3) {
  const Folder folder;
  const Result result = moediff("replay " + empty(folder) + " " + kGood);
  EXPECT_EQ(result.status, 3) << result.out;
  EXPECT_TRUE(has(result.out, "nothing was compared"));
}

TEST(Replay, ADisagreementCountsMost) {
  const Folder folder;
  EXPECT_EQ(moediff("replay " + empty(folder) + " " + broken(folder) + " " + failing(folder)).status, 1);
  EXPECT_EQ(moediff("replay " + empty(folder) + " " + broken(folder)).status, 2);
}

TEST(Replay, TheCandidateCanBeLeftOutAndAnUnknownProviderCannotRun) {
  const Result alone = moediff("replay -v --reference-only " + kGood);
  EXPECT_EQ(alone.status, 0);
  EXPECT_FALSE(has(alone.out, "candidate"));
  EXPECT_EQ(moediff("replay --provider no-such " + kGood).status, 125);
}

TEST(Replay, TheJsonIsAsItsSchemaSays) {
  const Folder folder;
  const std::string path = folder.path() + "/replay.json";
  moediff("replay --json " + path + " " + kGood + " " + failing(folder) + " " + broken(folder));
  const nlohmann::json report = read_json(path);
  EXPECT_EQ(schema_errors(read_json("reports/replay_schema.json"), report), std::vector<std::string>{});
  ASSERT_EQ(report["files"].size(), 3u);
  EXPECT_EQ(report["files"][0]["verdict"], "pass");
  EXPECT_GT(report["files"][0]["checks"].size(), 20u);
  EXPECT_EQ(report["files"][1]["verdict"], "fail");
  EXPECT_EQ(report["files"][2]["verdict"], "malformed");
  EXPECT_EQ(report["files"][2]["errors"].size(), 1u);
}

TEST(Replay, ATensorNameCannotSpeakToTheTerminal) {
  const Folder folder;
  ReplayData data = read_golden("fp8_decode");
  data.tensors["enc\x1b[31m"] = Tensor(DType::u8, {1});
  data.metadata["kind"] = "fp8_decode\x1b[2J";
  write_safetensors(folder.path() + "/hostile", data.tensors, data.metadata);
  const Result result = moediff("replay -v " + folder.path() + "/hostile");
  EXPECT_EQ(result.status, 2);
  EXPECT_FALSE(has(result.out + result.err, "\x1b")) << result.out << result.err;
}

}  // namespace
}  // namespace moediff::cli
