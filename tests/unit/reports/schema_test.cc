// reports/schema.json is the contract: a report must fit it, and a broken report must not.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "reports/json.h"
#include "tests/unit/reports/sample_report.h"
#include "tests/unit/reports/schema_validator.h"
#include "tests/unit/reports/text_files.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

Json schema() { return Json::parse(read_source_file("reports/schema.json")); }
Json document() { return Json::parse(render_json(sample_report())); }

TEST(Schema, TheSampleReportFits) { EXPECT_EQ(schema_errors(schema(), document()), std::vector<std::string>{}); }

TEST(Schema, AnEmptyReportFits) {
  EXPECT_EQ(schema_errors(schema(), Json::parse(render_json(Report{}))), std::vector<std::string>{});
}

TEST(Schema, EveryCauseAndStatusIsListed) {
  const Json definitions = schema()["$defs"];
  Json causes = Json::array(), statuses = Json::array();
  for (const CauseRow& row : kCauses) causes.push_back(row.name);
  causes.push_back(nullptr);
  for (const std::string_view name : kStatusNames) statuses.push_back(name);
  EXPECT_EQ(definitions["cause"]["enum"], causes);
  EXPECT_EQ(definitions["status"]["enum"], statuses);
}

struct Breakage {
  const char* name;
  std::function<void(Json&)> apply;
};

TEST(Schema, ABrokenReportDoesNotFit) {
  const Breakage breakages[] = {
      {"version", [](Json& d) { d["schema_version"] = 2; }},
      {"no summary", [](Json& d) { d.erase("summary"); }},
      {"a count as text", [](Json& d) { d["summary"]["cases"] = "8"; }},
      {"a negative count", [](Json& d) { d["summary"]["fail"] = -1; }},
      {"an unknown status", [](Json& d) { d["records"][0]["status"] = "passed"; }},
      {"an unknown cause", [](Json& d) { d["records"][1]["cause"] = "aliasing"; }},
      {"an unknown kind", [](Json& d) { d["records"][0]["kind"] = "suite"; }},
      {"no blame key", [](Json& d) { d["records"][1].erase("blame"); }},
      {"a misspelt key in blame", [](Json& d) { d["records"][1]["blame"]["writter"] = "combine"; }},
      {"cured as text", [](Json& d) { d["records"][1]["evidence"][0]["cured"] = "yes"; }},
      {"a nested axis", [](Json& d) { d["records"][0]["axes"]["extra"] = Json::array(); }},
      {"an unknown mode", [](Json& d) { d["records"][0]["stages"][0]["mode"] = "global"; }},
      {"a short hash", [](Json& d) { d["records"][0]["input_hash"] = "12ab"; }},
      {"an unnamed case", [](Json& d) { d["records"][0]["case"] = ""; }},
      {"members as text", [](Json& d) { d["records"].back()["members"] = "a, b"; }},
  };
  for (const Breakage& breakage : breakages) {
    Json broken = document();
    breakage.apply(broken);
    EXPECT_FALSE(schema_errors(schema(), broken).empty()) << breakage.name;
  }
}

TEST(SchemaValidator, NamesThePlaceAndRefusesUnknownKeywords) {
  const Json rules =
      Json::parse(R"({"type": "object", "properties": {"a": {"type": "array", "items": {"maximum": 3}}}})");
  EXPECT_EQ(schema_errors(rules, Json::parse(R"({"a": [1]})")),
            std::vector<std::string>{"$.a[0]: the validator does not know the keyword maximum"});
}

}  // namespace
}  // namespace moediff
