// Every relative link of every page points at something.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/repo/files.h"

namespace moediff::repo {
namespace {

std::vector<std::string> pages() {
  std::vector<std::string> all = files({"docs", "scenarios", "reports", "tests"}, {".md"});
  all.insert(all.end(), {"README.md", "CONTRIBUTING.md"});
  return all;
}

TEST(Links, EveryRelativeLinkOfEveryPageExists) {
  const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  int checked = 0;
  for (const std::string& page : pages()) {
    const std::string text = read(page);
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
      const auto target = std::filesystem::path(page).parent_path() / (*it)[1].str();
      EXPECT_TRUE(std::filesystem::exists(target)) << page << " links to " << (*it)[1];
      ++checked;
    }
  }
  EXPECT_GE(checked, 8);
}

}  // namespace
}  // namespace moediff::repo
