// Which files of a folder are scenarios.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string right(const std::string& title) {
  return "scenario: " + title + "\n" + std::string(kModel) + "tokens: 5\n";
}

std::vector<std::string> titles(const Files& files, const std::vector<std::string>& names) {
  std::vector<std::string> paths, all;
  for (const std::string& name : names) paths.push_back(files.path(name));
  for (const Case& spec : load_cases(paths)) all.push_back(spec.title);
  return all;
}

TEST(Folders, AreSearchedInOrderAndLeaveOutWhatOnlyServesInclude) {
  const Files files;
  files.write("b.yaml", right("B"));
  files.write("a/c.yaml", right("C"));
  files.write("a/toy.yaml", "tokens: 5\n");
  files.write("a/notes.txt", "not yaml: [");
  EXPECT_THAT(titles(files, {""}), ElementsAre("C", "B"));
}

TEST(Folders, AFileThatIsNamedTwiceIsLoadedOnce) {
  const Files files;
  files.write("a/c.yaml", right("C"));
  files.write("a/d.yaml", right("D"));
  EXPECT_THAT(titles(files, {"a/d.yaml", "a", "a/../a/c.yaml"}), ElementsAre("D", "C"));
}

TEST(Folders, AMisspeltTitleDoesNotMakeAFileDisappear) {
  const Files files;
  files.write("x.yaml", "scenaro: Test\n" + std::string(kModel) + "tokens: 5\n");
  EXPECT_THAT(files.mistakes({""}),
              ElementsAre("x.yaml:1:1: error: found 'scenaro': there is no such key; did you mean 'scenario'?"));
}

TEST(Folders, AMistakeInAFileThatOnlyServesIncludeIsReportedToo) {
  const Files files;
  files.write("toy.yaml", "tokens: -5\n");
  files.write("x.yaml", right("X"));
  EXPECT_THAT(files.mistakes({""}), ElementsAre(HasSubstr("toy.yaml:1:9: error: found '-5'")));
}

TEST(Folders, WithoutAScenarioAreAMistake) {
  const Files files;
  files.write("toy.yaml", "tokens: 5\n");
  EXPECT_THAT(files.mistakes({""}),
              ElementsAre(HasSubstr("error: there is no scenario here; name a *.yaml file, or a folder")));
}

TEST(Folders, AFileThatIsNamedMustHaveATitle) {
  const Files files;
  files.write("toy.yaml", std::string(kModel) + "tokens: 5\n");
  EXPECT_THAT(files.mistakes({"toy.yaml"}),
              ElementsAre(HasSubstr("toy.yaml:1:1: error: scenario is required; add scenario: text (title, one line")));
}

}  // namespace
}  // namespace moediff::testing
