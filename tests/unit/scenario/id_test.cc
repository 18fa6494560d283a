// Ids of cases: readable, unique, stable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_with(const std::string& rest) { return "scenario: Test\n" + std::string(kModel) + rest; }

TEST(Id, BeginsWithThePathBelowTheNearestFolderCalledScenarios) {
  const Files files;
  files.write("scenarios/old/scenarios/streams/inplace.yaml", text_with("tokens: 5\n"));
  files.write("elsewhere/mine.yaml", text_with("tokens: 5\n"));
  EXPECT_EQ(files.load("scenarios/old/scenarios/streams/inplace.yaml").front().id, "streams/inplace");
  EXPECT_EQ(files.load("elsewhere/mine.yaml").front().id, "mine");
}

TEST(Id, DoesNotDependOnTheFolderWhereMoediffIsStarted) {
  const Files files;
  files.write("scenarios/streams/x.yaml", text_with("axes: {tokens: [1, 5]}\n"));
  const InFolder here(files, "scenarios/streams");
  const std::vector<std::string> paths{"x.yaml"};
  const std::vector<Case> cases = load_cases(paths);
  EXPECT_EQ(cases[1].id, "streams/x/t5");
  EXPECT_EQ(cases[1].scenario, "x.yaml");
}

TEST(Id, NamesTheAxesThatVaryInTheOrderOfTheFile) {
  const std::vector<Case> cases = load_text(
      "axes:\n"
      "  stream: [none]\n"
      "  order: [shared_first, routed_first]\n"
      "  in_place: [false, true]\n"
      "  residual: [true, false]\n"
      "  dtype: [bf16, f32]\n"
      "  tokens: [1, 5]\n"
      "  chunk: [0, 4]\n"
      "  schedule: [\"random:1\", threads]\n"
      "  fault: [none, alias1]\n");
  EXPECT_EQ(cases.front().id, "x/shared_first-outofplace-residual-bf16-t1-c0-random1-clean");
  EXPECT_EQ(cases.back().id, "x/routed_first-inplace-noresidual-f32-t5-c4-threads-alias1");
}

TEST(Id, OfALockstepTakesAsManyKeysAsTellItsRowsApart) {
  EXPECT_THAT(ids(load_text("lockstep: {tokens: [5, 6], chunk: [0, 0], seed: [1, 1]}")), ElementsAre("t5", "t6"));
  EXPECT_THAT(ids(load_text("lockstep: {tokens: [5, 5], chunk: [0, 4], seed: [1, 1]}")), ElementsAre("t5-c0", "t5-c4"));
}

TEST(Id, HasNoSignThatAGlobOrAFileSystemTakesForItsOwn) {
  EXPECT_THAT(ids(load_text("tokens: 5\naxes: {provider: [\"a b/c*\", \"../x.so\"]}")),
              ElementsAre("a_b_c_", ".._x.so"));
}

TEST(Id, MayBeGivenByTheFile) {
  EXPECT_THAT(ids(load_text("id: top/mine\naxes: {tokens: [1, 5]}")), ElementsAre("mine/t1", "mine/t5"));
}

TEST(Id, ThatTwoCasesShareIsAMistake) {
  const Files files;
  files.write("a/x.yaml", text_with("tokens: 5\n"));
  files.write("b/x.yaml", text_with("tokens: 5\n"));
  files.write("c.yaml", text_with("tokens: 5\naxes: {provider: [a/b, a_b]}\n"));
  EXPECT_THAT(files.mistakes({"a/x.yaml", "b/x.yaml"}),
              ElementsAre("b/x.yaml:1:1: error: found 'x': two cases have this id, the other in a/x.yaml; rename the "
                          "file, or give it a key `id`"));
  EXPECT_THAT(files.mistakes({"c.yaml"}),
              ElementsAre(HasSubstr("c.yaml:1:1: error: found 'c/a_b': two cases have this id; let the values")));
}

}  // namespace
}  // namespace moediff::testing
