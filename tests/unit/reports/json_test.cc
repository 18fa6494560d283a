// Values and key order of the JSON report, read back with a parser.
#include "reports/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/unit/reports/sample_report.h"

namespace moediff {
namespace {

using Json = nlohmann::ordered_json;

Json rendered(const CaseRecord& record) {
  Report report;
  report.cases = {record};
  summarize(report);
  return Json::parse(render_json(report))["records"][0];
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

TEST(Json, KeepsTheOrderOfTheContract) {
  const Json document = Json::parse(render_json(sample_report()));
  EXPECT_EQ(keys(document),
            (std::vector<std::string>{"schema_version", "tool", "environment", "command", "summary", "records"}));
  const std::vector<std::string> first = keys(document["records"][0]);
  EXPECT_EQ(std::vector<std::string>(first.begin(), first.begin() + 4),
            (std::vector<std::string>{"kind", "case", "group", "scenario"}));
}

TEST(Json, CasesComeInPlanOrderAndRelationsAfterThem) {
  const Json records = Json::parse(render_json(sample_report()))["records"];
  ASSERT_EQ(records.size(), 10u);
  EXPECT_EQ(records[0]["case"], "streams/inplace/aux-shared_first-copied-bf16-t5");
  EXPECT_EQ(records[4]["status"], "skipped");
  EXPECT_EQ(records[6]["kind"], "case");
  EXPECT_EQ(records[7]["relation"], "none=aux");
  EXPECT_EQ(records[9]["first_difference"]["token"], 1);
}

TEST(Json, AFailureNamesCauseBlameAndEvidence) {
  const Json record = rendered(founding_bug());
  EXPECT_EQ(record["status"], "fail");
  EXPECT_EQ(record["cause"], "stale_read");
  EXPECT_EQ(record["confidence"], "proved");
  EXPECT_EQ(record["blame"]["op"], "shared_gemm1");
  EXPECT_EQ(record["blame"]["writer"], "combine");
  EXPECT_EQ(record["blame"]["layer"], nullptr);
  EXPECT_EQ(record["evidence"][0]["cured"], true);
  EXPECT_EQ(record["evidence"][0]["worst_after"], 0.0004);
  EXPECT_EQ(record["hazards"][0]["edge_missing"], nullptr);
  EXPECT_EQ(record["stages"][6]["worst_index"], Json::parse(R"({"token": 3, "column": 17})"));
  EXPECT_EQ(record["picture"]["steps"][7]["clobbers"], true);
}

TEST(Json, APassHasNeitherCauseNorBlame) {
  const Json record = rendered(two_streams_pass());
  EXPECT_EQ(record["cause"], nullptr);
  EXPECT_EQ(record["blame"], nullptr);
  EXPECT_EQ(record["schedule"]["independent"], true);
  EXPECT_EQ(record["schedule"]["reason"], nullptr);
}

TEST(Json, WhatIsNotKnownIsNullAndNotFalse) {
  const Json record = rendered(skipped_case());
  EXPECT_EQ(record["schedule"]["independent"], nullptr);
  EXPECT_EQ(record["schedule"]["reason"], "not run");
  EXPECT_EQ(record["skip_reason"], "order means nothing when the shared experts are fused");
}

TEST(Json, NumbersThatAreNotFiniteBecomeNullAndAreCounted) {
  CaseRecord record = wrong_routing_case();
  record.verdict.evidence = {{"replay", false, INFINITY, 0}};
  const Json json = rendered(record);
  EXPECT_EQ(json["stages"][0]["max_rel"], nullptr);
  EXPECT_EQ(json["stages"][0]["not_finite"], 2);
  EXPECT_EQ(json["evidence"][0]["worst_before"], nullptr);
}

TEST(Json, AxesKeepTheirTypes) {
  CaseRecord record = two_streams_pass();
  record.spec.axes = {{"flag", "false"}, {"count", "16"}, {"scale", "2.5"}, {"word", "12ab"},
                      {"hole", ""},      {"odd", "nan"},  {"tokens", "999"}};
  const Json axes = rendered(record)["axes"];
  EXPECT_EQ(axes["flag"], false);
  EXPECT_TRUE(axes["count"].is_number_integer());
  EXPECT_EQ(axes["scale"], 2.5);
  EXPECT_EQ(axes["word"], "12ab");
  EXPECT_EQ(axes["hole"], "");
  EXPECT_EQ(axes["odd"], "nan");
  EXPECT_EQ(axes["tokens"], 5) << "the fields of the case win over the text of the scenario";
  EXPECT_EQ(axes["in_place"], false);
}

TEST(Json, TheBudgetOfARelationIsANumberOnlyWhereItsRuleHasOne) {
  const Json records = Json::parse(render_json(sample_report()))["records"];
  EXPECT_EQ(records[7]["budget_used"], nullptr);
  EXPECT_EQ(records[9]["budget_used"], 3.5);
}

TEST(Json, TextThatIsNotUtf8IsRepaired) {
  CaseRecord record = founding_bug();
  record.verdict.explanation = "broken \xff byte";
  EXPECT_EQ(rendered(record)["explanation"], "broken \xEF\xBF\xBD byte");
}

}  // namespace
}  // namespace moediff
