// The page as text: self-contained, safe, small. What it draws is tested in a browser.
#include "reports/html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/reports/sample_report.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

/// The data that the page holds.
std::string embedded_text(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(Html, HoldsTheReportAsJson) {
  const Json data = Json::parse(embedded_text(render_html(sample_report())));
  EXPECT_EQ(data["summary"]["unexpected"], 4);
  EXPECT_EQ(data["records"].size(), 10u);
  EXPECT_EQ(data["records"][1]["blame"]["op"], "shared_gemm1");
  EXPECT_EQ(data["causes"]["stale_read"], kCauses[0].meaning);
}

TEST(Html, TextCannotEndTheScriptElement) {
  Report report = sample_report();
  report.cases[1].verdict.explanation = "</script><script>alert(1)</script><!-- & {{report}}";
  const std::string page = render_html(report);
  const std::string data = embedded_text(page);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(data)["records"][1]["explanation"], report.cases[1].verdict.explanation);
}

TEST(Html, FetchesNothing) {
  const std::string page = render_html(Report{});
  for (const char* word : {"<link", "src=", "@import", "fetch(", "XMLHttpRequest", "https://"}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(page.find("{{"), std::string::npos) << "a placeholder was not filled";
}

TEST(Html, EqualPicturesAreStoredOnce) {
  Report report;
  report.cases = {founding_bug(), founding_bug(), dropped_wait()};
  const Json data = Json::parse(embedded_text(render_html(report)));
  EXPECT_EQ(data["pictures"].size(), 2u);
  EXPECT_EQ(data["records"][0]["picture"], data["records"][1]["picture"]);
  EXPECT_NE(data["records"][0]["picture"], data["records"][2]["picture"]);
}

TEST(Html, TokensArePooledByTheirLargestError) {
  Report report;
  report.cases = {two_streams_pass()};
  std::vector<double>& error = report.cases[0].stages.back().token_error;
  error.assign(130, 0.25);  // three tokens a cell
  error[7] = 0.75;
  const Json heat = Json::parse(embedded_text(render_html(report)))["records"][0]["heat"].back();
  EXPECT_EQ(heat["tokens_per_cell"], 3);
  EXPECT_EQ(heat["cells"].size(), 44u);
  EXPECT_EQ(heat["cells"][2], 0.75);
  EXPECT_EQ(heat["cells"][3], 0.25);
}

TEST(Html, SevenHundredCasesStayBelowFiveMegabytes) { EXPECT_LT(render_html(large_report(700)).size(), 5'000'000u); }

}  // namespace
}  // namespace moediff
