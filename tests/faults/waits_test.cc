// Every wait is necessary or redundant, and moediff says which.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

Json run_with(const std::string& keys, int expected_status) {
  const cli::Folder folder;
  const std::string json = folder.path() + "/r.json";
  const cli::Result result = cli::moediff(
      "run " + folder.write("s.yaml", cli::small_scenario("stream: aux\ntokens: 5\n" + keys)) + " --json " + json);
  EXPECT_EQ(result.status, expected_status) << result.out << result.err;
  return cli::read_json(json)["records"][0];
}

TEST(Waits, TheCleanAuxiliaryConfigurationIsIndependentOfTheSchedule) {
  for (const char* order : {"shared_first", "routed_first"}) {
    const Json record = run_with(std::string("in_place: true\norder: ") + order + "\n", 0);
    EXPECT_EQ(record["status"], "pass");
    EXPECT_EQ(record["schedule"]["independent"], true) << record["schedule"];
    EXPECT_TRUE(record["redundant_waits"].empty()) << record["redundant_waits"];
  }
}

// Numbers are wrong when they are far off, or not even finite (null in JSON): unwritten memory reads as NaN.
bool wrong(const Json& worst) { return worst.is_null() || worst.get<double>() > 0.01; }

class DroppedWait : public ::testing::TestWithParam<const char*> {};

TEST_P(DroppedWait, IsReportedWithTheMissingEdgeAndAWitnessWhoseNumbersAreWrong) {
  const Json record = run_with(std::string("in_place: true\nfault: drop_wait\ndrop_wait: ") + GetParam() + "\n", 1);
  EXPECT_EQ(record["status"], "fail");
  EXPECT_EQ(record["cause"], "unordered_access");
  EXPECT_EQ(record["schedule"]["independent"], false);
  ASSERT_FALSE(record["hazards"].empty());
  EXPECT_TRUE(record["hazards"][0]["edge_missing"].is_string()) << record["hazards"][0];
  bool witness = false, cured = false;
  for (const Json& evidence : record["evidence"]) {
    const std::string what = evidence["intervention"];
    if (what.find("witness") != std::string::npos) witness = wrong(evidence["worst_after"]);
    if (what.rfind("make ", 0) == 0) cured = evidence["cured"];
  }
  EXPECT_TRUE(witness) << record["evidence"];
  EXPECT_TRUE(cured) << record["evidence"];
  EXPECT_EQ(record["confidence"], "proved");
}

INSTANTIATE_TEST_SUITE_P(EveryWait, DroppedWait, ::testing::Values("fork", "join"));

TEST(Waits, AnImpliedWaitIsReportedAsRedundantAndIsNoFailure) {
  const Json record = run_with("in_place: true\nfault: redundant_wait\n", 0);
  EXPECT_EQ(record["status"], "pass");
  EXPECT_EQ(record["redundant_waits"], Json::array({"again"}));
}

}  // namespace
}  // namespace moediff
