// A candidate that misbehaves is a verdict, and the suite goes on.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace moediff::cli {
namespace {

TEST(Misbehaviour, CrashHangAndStrayWriteAreThreeVerdictsAndTheSuiteGoesOn) {
  const Folder folder;
  const std::string json = folder.path() + "/r.json";
  const std::string scenario = folder.write(
      "bad.yaml", small_scenario("timeout: 2\naxes: {fault: [crash, hang, out_of_bounds, none], tokens: [5]}\n"));
  const Result result = moediff("run " + scenario + " --jobs 1 --json " + json);
  EXPECT_EQ(result.status, 1) << result.err;

  std::map<std::string, nlohmann::json> by_fault;
  const nlohmann::json report = read_json(json);
  for (const auto& record : report["records"]) {
    if (record["kind"] == "case") by_fault[record["axes"]["fault"]] = record;
  }
  ASSERT_EQ(by_fault.size(), 4u);
  EXPECT_EQ(by_fault["crash"]["cause"], "crash");
  EXPECT_EQ(by_fault["crash"]["blame"]["op"], "activation");
  EXPECT_EQ(by_fault["hang"]["cause"], "hang");
  EXPECT_EQ(by_fault["hang"]["blame"]["op"], "activation");
  EXPECT_EQ(by_fault["out_of_bounds"]["cause"], "out_of_bounds");
  EXPECT_EQ(by_fault["out_of_bounds"]["blame"]["op"], "gemm2");
  EXPECT_NE(by_fault["out_of_bounds"]["explanation"].get<std::string>().find("gemm2_out"), std::string::npos);
  EXPECT_EQ(by_fault["none"]["status"], "pass");
}

}  // namespace
}  // namespace moediff::cli
