// The suite of routers, schemes and policies: every clean case passes, every relation holds, and what is meant to be
// compared exactly was.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

/// Is `stage` a linear one whose data are exact in this case of exact.yaml? Activation scales that are no power of two
/// need more than 24 bits in f32; combine is exact where a token's one weight is 1.
bool is_exact_stage(const std::string& stage, const Json& axes) {
  if (stage == "gemm1" || stage == "shared_gemm1") return true;
  if (stage == "combine") return axes["top_k"] == 1;
  const bool scaled = axes["scheme"] == "fp8_channel" || axes["scheme"] == "int8_channel";
  return (stage == "gemm2" || stage == "shared_gemm2") && !scaled;
}

TEST(NumbersSuite, PassesHoldsItsRelationsAndComparesExactDataExactly) {
  const cli::Folder folder;
  const std::string json = folder.path() + "/r.json";
  const cli::Result result = cli::moediff("run scenarios/numbers --progress none --json " + json);
  ASSERT_EQ(result.status, 0) << result.out.substr(result.out.size() > 4000 ? result.out.size() - 4000 : 0)
                              << result.err;
  std::set<std::string> schemes;
  std::map<std::string, int> relations;
  int exact = 0, flippable = 0;
  const Json report = cli::read_json(json);
  for (const Json& record : report["records"]) {
    if (record["kind"] == "relation") {
      EXPECT_EQ(record["status"], "pass") << record;
      ++relations[record["relation"]];
      continue;
    }
    if (record["status"] == "skipped") continue;
    EXPECT_EQ(record["status"], "pass") << record["case"] << ": " << record["explanation"];
    if (record["axes"].contains("scheme")) schemes.insert(record["axes"]["scheme"]);
    const bool exact_data = record["scenario"].get<std::string>().find("exact.yaml") != std::string::npos;
    for (const Json& stage : record["stages"]) {
      if (stage["mode"] != "local") continue;
      flippable += stage["flippable"].get<int>() > 0 ? 1 : 0;
      if (!exact_data || !is_exact_stage(stage["stage"], record["axes"])) continue;
      ++exact;
      EXPECT_TRUE(stage["exact"].get<bool>()) << record["case"] << " " << stage["stage"];
    }
  }
  EXPECT_EQ(schemes.size(), 7u);
  EXPECT_GE(exact, 80);
  EXPECT_GE(flippable, 10);
  for (const char* relation : {"unfused~fused", "whole=chunked", "tokens=permuted", "batch=half", "batch=padded",
                               "logits~shifted", "idle=poisoned", "run=run again"})
    EXPECT_GE(relations[relation], 4) << relation;
}

}  // namespace
}  // namespace moediff
