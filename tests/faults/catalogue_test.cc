// Every planted fault is caught and blamed, every clean control passes, under every schedule policy.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("scenarios/faults")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() == ".yaml" && name != "toy.yaml") files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Catalogue : public ::testing::TestWithParam<std::string> {};

TEST_P(Catalogue, EveryCaseIsAsItsScenarioSays) {
  const cli::Folder folder;
  const std::string json = folder.path() + "/r.json";
  const cli::Result result = cli::moediff("run scenarios/faults/" + GetParam() + " --json " + json);
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  int caught = 0, controls = 0;
  const Json report = cli::read_json(json);
  for (const Json& record : report["records"]) {
    if (record["kind"] != "case" || record["status"] == "skipped") continue;
    EXPECT_TRUE(record["as_expected"]) << record["case"] << " " << record["explanation"];
    if (record["status"] == "pass") ++controls;
    if (record["status"] != "fail") continue;
    ++caught;
    EXPECT_TRUE(record["cause"].is_string()) << record["case"];
    EXPECT_FALSE(record["blame"]["op"].get<std::string>().empty()) << record["case"];
    EXPECT_FALSE(record["explanation"].get<std::string>().empty()) << record["case"];
  }
  EXPECT_GT(caught + controls, 0);
  EXPECT_GT(controls, 0) << "no clean control";
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Catalogue, ::testing::ValuesIn(scenario_files()), [](const auto& file) {
  std::string name = file.param.substr(0, file.param.find('.'));
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace moediff
