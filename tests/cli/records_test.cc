// Architecture §8: records do not depend on the order of cases, on their company, or on threads.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace moediff::cli {
namespace {

using Json = nlohmann::json;

// Case records by id, without the two fields that may differ.
std::map<std::string, Json> cases_of(const Json& report) {
  std::map<std::string, Json> cases;
  for (Json record : report["records"]) {
    if (record["kind"] != "case") continue;
    record.erase("seconds");
    record.erase("repro");  // holds the path as it was given
    cases[record["case"]] = record;
  }
  return cases;
}

Json run(const Folder& folder, const std::string& arguments, const std::string& environment = "") {
  const std::string json = folder.path() + "/report.json";
  const Result result = moediff("run " + arguments + " --json " + json, environment);
  EXPECT_LE(result.status, 1) << result.err;
  return read_json(json);
}

TEST(Records, AreTheSameWithOneThreadAndWithTwo) {
  const Folder folder;
  const Json one = run(folder, "scenarios/smoke --jobs 1", "OMP_NUM_THREADS=1"),
             two = run(folder, "scenarios/smoke --jobs 2", "OMP_NUM_THREADS=2");
  Json a = one["records"], b = two["records"];
  for (Json& record : a) record.erase("seconds");
  for (Json& record : b) record.erase("seconds");
  ASSERT_GT(a.size(), 5u);
  EXPECT_EQ(a, b);
}

TEST(Records, AreTheSameAloneAndTogether) {
  const Folder folder;
  const auto together = cases_of(run(folder, "scenarios/smoke"));
  ASSERT_GT(together.size(), 5u);
  for (const auto& [id, record] : together) {
    if (record["status"] == "skipped") continue;
    const auto alone = cases_of(run(folder, "scenarios/smoke --filter '" + id + "'"));
    ASSERT_EQ(alone.size(), 1u) << id;
    EXPECT_EQ(alone.at(id), record);
  }
}

TEST(Records, AreTheSameInAnyOrderOfTheFiles) {
  const Folder folder;
  const std::string a = folder.write(
      "a.yaml",
      small_scenario(
          "axes: {tokens: [1, 5], in_place: [false, true]}\nexpect: [{when: {in_place: true}, status: fail}]\n"));
  const std::string b = folder.write("b.yaml", small_scenario("axes: {tokens: [3], dtype: [f32, bf16]}\n"));
  EXPECT_EQ(cases_of(run(folder, a + " " + b)), cases_of(run(folder, b + " " + a)));
}

TEST(Records, ASummaryAddsUp) {
  const Folder folder;
  const Json report = run(folder, "scenarios/smoke");
  const Json& s = report["summary"];
  EXPECT_EQ(s["cases"].get<int>(), s["pass"].get<int>() + s["fail"].get<int>() + s["inconclusive"].get<int>() +
                                       s["skipped"].get<int>() + s["error"].get<int>());
  EXPECT_EQ(report["schema_version"], 1);
}

}  // namespace
}  // namespace moediff::cli
