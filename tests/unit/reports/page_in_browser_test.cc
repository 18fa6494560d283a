// The page in a real browser: the document after its scripts have run, as Chromium prints it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reports/html.h"
#include "tests/unit/reports/sample_report.h"

namespace moediff {
namespace {

#ifdef MOEDIFF_BROWSER
std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  ::pclose(pipe);
  return text;
}

/// The body of the drawn page, without the data and scripts that it was drawn from.
std::string drawn(const Report& report, const std::string& address) {
  std::string folder = (std::filesystem::temp_directory_path() / "moediff_page_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return "";
  std::ofstream(folder + "/page.html") << render_html(report);
  const std::string text =
      output_of("timeout 60 '" MOEDIFF_BROWSER "' --headless --no-sandbox --disable-gpu --dump-dom --user-data-dir='" +
                folder + "/profile' 'file://" + folder + "/page.html" + address + "' 2>&1");
  std::filesystem::remove_all(folder);
  return text.substr(0, text.find("<script"));
}

class Page : public ::testing::Test {
 protected:
  static bool shows(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }
};
#else
class Page : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_SKIP() << "no Chromium on this machine"; }
  static bool shows(const std::string&, const std::string&) { return false; }
};
std::string drawn(const Report&, const std::string&) { return ""; }
#endif

TEST_F(Page, OpensWithTheVerdictAndTheTableAndNoDetails) {
  const std::string page = drawn(sample_report(), "");
  EXPECT_TRUE(shows(page, "4 results are not as expected"));
  EXPECT_TRUE(shows(page, "streams/inplace/none-routed_first-inplace-bf16-t64"));
  EXPECT_TRUE(shows(page, "class=\"square caught\""));
  EXPECT_FALSE(shows(page, "class=\"detail\"")) << "details are drawn on demand";
}

TEST_F(Page, TheAddressOpensACaseWithItsPictureInRed) {
  const std::string page = drawn(sample_report(), "#case=streams%2Finplace%2Fnone-routed_first-inplace-bf16-t5");
  EXPECT_TRUE(shows(page, "class=\"detail\""));
  EXPECT_TRUE(shows(page, "shared_gemm1 read hidden_states after combine had overwritten it"));
  EXPECT_TRUE(shows(page, "restore hidden_states before shared_gemm1"));
  EXPECT_TRUE(shows(page, "class=\"step clobbers\""));
  EXPECT_TRUE(shows(page, "class=\"step victim\""));
  EXPECT_TRUE(shows(page, "holds routed_out"));
  EXPECT_TRUE(shows(page, "--filter 'streams/inplace/none-routed_first-inplace-bf16-t5' --seed 7"));
}

TEST_F(Page, ACollapsedCaseOpensTheOneThatStandsForIt) {
  const std::string page =
      drawn(sample_report(), "#case=streams%2Finplace%2Faux-routed_first-inplace-bf16-t5-threshold4");
  EXPECT_TRUE(shows(page, "shared_gemm1 read hidden_states after combine had overwritten it"));
}

TEST_F(Page, AWaitIsDrawnAsAnArrowBetweenItsLanes) {
  const std::string page = drawn(sample_report(), "#case=streams%2Finplace%2Faux-shared_first-copied-bf16-t5");
  EXPECT_TRUE(shows(page, "class=\"wait-arrow\""));
  EXPECT_FALSE(shows(page, "class=\"step victim\""));
}

TEST_F(Page, MarkupInATextIsShownAndNotRun) {
  Report report = sample_report();
  report.cases[1].verdict.explanation = "</script><img src=x onerror=alert(1)>";
  const std::string page = drawn(report, "#case=streams%2Finplace%2Fnone-routed_first-inplace-bf16-t5");
  EXPECT_TRUE(shows(page, "&lt;img src=x"));
  EXPECT_FALSE(shows(page, "<img"));
}

TEST_F(Page, AnEmptyReportSaysThatNothingWasChecked) { EXPECT_TRUE(shows(drawn(Report{}, ""), "Nothing was checked")); }

}  // namespace
}  // namespace moediff
