// The user's mistakes: place, value, rule, remedy; exit 2; found before anything runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/core/safetensors.h"
#include "tests/cli/program.h"

namespace moediff::cli {
namespace {

const std::string kCapture = MOEDIFF_SOURCE_DIR "/scenarios/models/capitals/capture_china.safetensors";
const std::string kCheckpoint = MOEDIFF_SOURCE_DIR "/scenarios/models/capitals/model.safetensors";

std::string captured_scenario(const std::string& capture, const std::string& checkpoint,
                              const std::string& hidden = "layers.1.in.hidden_states", int inter = 128) {
  return "scenario: a captured layer\n"
         "model: {hidden: 128, inter: " +
         std::to_string(inter) +
         ", experts: 16, top_k: 4, n_group: 4, topk_group: 2, n_shared: 1, routed_scaling_factor: 2.5}\n"
         "input: {kind: capture, capture: '" +
         capture + "', checkpoint: '" + checkpoint + "', hidden_states: " + hidden +
         ", weights_prefix: model.layers.1.mlp., expected_prefix: layers.1.expected.}\n"
         "axes: {tokens: [5], dtype: [f32]}\n";
}

// Runs the scenario; expects exit 2 before the plan line, and every given text in the message.
void expect_refused(const std::string& scenario, const std::vector<std::string>& texts) {
  const Folder folder;
  const Result result = moediff("run " + folder.write("s.yaml", scenario));
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_EQ(result.out, "");
  for (const std::string& text : texts)
    EXPECT_NE(result.err.find(text), std::string::npos) << "no '" << text << "' in: " << result.err;
}

TEST(BadInput, ACaptureThatFitsRuns) {
  const Folder folder;
  const Result result = moediff("run " + folder.write("s.yaml", captured_scenario(kCapture, kCheckpoint)));
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

TEST(BadInput, AMissingCaptureIsNamed) {
  expect_refused(captured_scenario("/no/such.safetensors", kCheckpoint), {"/no/such.safetensors"});
}

TEST(BadInput, ATruncatedFileIsNamed) {
  const Folder folder;
  const std::string cut = folder.path() + "/cut.safetensors";
  std::filesystem::copy(kCapture, cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
  expect_refused(captured_scenario(cut, kCheckpoint), {cut});
}

TEST(BadInput, ACheckpointWithoutATensorNamesIt) {
  expect_refused(captured_scenario(kCapture, kCapture), {"model.layers.1.mlp.gate.weight"});
}

TEST(BadInput, AMisspeltTensorGetsASuggestion) {
  expect_refused(captured_scenario(kCapture, kCheckpoint, "layers.1.in.hiden_states"),
                 {"layers.1.in.hiden_states", "layers.1.in.hidden_states"});
}

TEST(BadInput, AShapeThatDoesNotFitShowsExpectedAndFound) {
  expect_refused(captured_scenario(kCapture, kCheckpoint, "layers.1.in.hidden_states", 64),
                 {"[64, 128]", "[128, 128]"});
}

TEST(BadInput, AWrongDtypeIsRefused) {
  const Folder folder;
  const std::string path = folder.path() + "/odd.safetensors";
  std::string header = R"({"layers.1.in.hidden_states":{"dtype":"BOOL","shape":[6,128],"data_offsets":[0,768]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t size = header.size();
  file.write(reinterpret_cast<const char*>(&size), 8);
  file << header << std::string(768, '\0');
  file.close();
  expect_refused(captured_scenario(path, kCheckpoint), {"BOOL", "layers.1.in.hidden_states"});
}

TEST(BadInput, MoreTokensThanTheCaptureHasIsRefused) {
  std::string scenario = captured_scenario(kCapture, kCheckpoint);
  scenario.replace(scenario.find("[5]"), 3, "[7]");
  expect_refused(scenario, {"[6, 128]", "at least 7"});
}

TEST(BadInput, AllMistakesOfAllFilesAreReportedAtOnce) {
  const Folder folder;
  const std::string a =
      folder.write("a.yaml", "scenario: a\nmodel: {hidden: 32, inter: 16, experts: 4, top_k: 9}\nmodle: 1\n");
  const std::string b = folder.write("b.yaml", "scenario: b\nmodel: {hidden: many, inter: 16, experts: 4, top_k: 1}\n");
  const Result result = moediff("check " + a + " " + b);
  EXPECT_EQ(result.status, 2);
  for (const char* text : {"a.yaml:2:", "top_k", "a.yaml:3:1", "did you mean 'model'?", "b.yaml:2:", "many"}) {
    EXPECT_NE(result.err.find(text), std::string::npos) << "no '" << text << "' in: " << result.err;
  }
}

TEST(BadInput, AnUnknownFaultIsRefusedWithASuggestion) {
  expect_refused(small_scenario("fault: alais1\naxes: {tokens: [5]}\n"), {"alais1", "alias1"});
}

TEST(BadInput, WhatIsNoRegularFileIsRefusedAtOnce) {
  const Folder folder;
  const std::string pipe = folder.path() + "/pipe.yaml", loop = folder.path() + "/loop.yaml";
  ASSERT_EQ(std::system(("mkfifo " + pipe).c_str()), 0);
  std::filesystem::create_symlink(loop, loop);
  for (const std::string& path : {pipe, loop, folder.path(), std::string(300, 'a')}) {
    const Result result = moediff("check " + path);
    EXPECT_EQ(result.status, 2) << path << result.out << result.err;
  }
}

TEST(BadInput, AReportThatCannotBeWrittenLeavesTheOldOne) {
  const Folder folder;
  const std::string path = folder.write("s.yaml", small_scenario("axes: {tokens: [2]}\n"));
  const Result result = moediff("run " + path + " --json /dev/full/report.json");
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_EQ(result.out, "") << "found before anything runs";
  EXPECT_NE(result.err.find("/dev/full/report.json"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace moediff::cli
