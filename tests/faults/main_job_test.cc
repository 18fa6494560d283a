// The main job finds the founding bug exactly where the rule of architecture §3 says it is, and nowhere else.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

// n_shared > 0 and effective_stream = none and order = routed_first and in_place.
bool founding_bug_expected(const Json& axes) {
  return axes["n_shared"].get<int>() > 0 && axes["effective_stream"] == "none" && axes["order"] == "routed_first" &&
         axes["in_place"] == true;
}

TEST(MainJob, StaleReadsAreExactlyThoseOfTheRuleEachBlamedAndProved) {
  const cli::Folder folder;
  const std::string json = folder.path() + "/r.json";
  const cli::Result result = cli::moediff("run scenarios/streams --progress none --json " + json);
  ASSERT_EQ(result.status, 0) << result.out.substr(result.out.size() > 4000 ? result.out.size() - 4000 : 0)
                              << result.err;
  const Json report = cli::read_json(json);
  int ran = 0, stale = 0, captures = 0;
  for (const Json& record : report["records"]) {
    if (record["kind"] == "relation") {
      EXPECT_NE(record["status"], "fail") << record;
      captures += record["relation"] == "reference=capture" && record["status"] == "pass";
      continue;
    }
    if (record["status"] == "skipped") {
      EXPECT_TRUE(record["skip_reason"].is_string()) << record["case"];
      continue;
    }
    ++ran;
    const Json& axes = record["axes"];
    if (!founding_bug_expected(axes)) {
      EXPECT_EQ(record["status"], "pass") << record["case"] << ": " << record["explanation"];
      continue;
    }
    ++stale;
    EXPECT_EQ(record["cause"], "stale_read") << record["case"];
    EXPECT_EQ(record["blame"]["op"], "shared_gemm1") << record["case"];
    EXPECT_EQ(record["blame"]["value"], axes["chunk"] == 0 ? "hidden_states" : "staging_hidden") << record["case"];
    EXPECT_EQ(record["blame"]["writer"].get<std::string>().substr(0, 7), "combine") << record["case"];
    EXPECT_EQ(record["confidence"], "proved") << record["case"];
  }
  EXPECT_GE(ran, 300);
  EXPECT_GE(stale, 30);
  EXPECT_GE(captures, 6);  // two layers, three batch sizes
}

}  // namespace
}  // namespace moediff
