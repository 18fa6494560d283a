// Includes: merged key by key, each mistake in its own file, no cycles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Include, GivesTheKeysThatTheFileItselfDoesNot) {
  const Files files;
  files.write("models/toy.yaml", std::string(kModel) + "seed: 3\ntokens: 9\n");
  files.write("streams/x.yaml", "scenario: Test\ninclude: ../models/toy.yaml\nmodel: {n_shared: 2}\ntokens: 5\n");
  const Case spec = files.load("streams/x.yaml").front();
  EXPECT_EQ(spec.tokens, 5);
  EXPECT_EQ(spec.seed, 3u);
  EXPECT_EQ(spec.shape.n_shared, 2);
  EXPECT_EQ(spec.shape.experts, 8);
}

TEST(Include, OfSeveralFilesTheLaterOneGoesOverTheEarlierOne) {
  const Files files;
  files.write("a.yaml", std::string(kModel) + "seed: 1\ntokens: 1\n");
  files.write("b.yaml", "seed: 2\n");
  files.write("x.yaml", "scenario: Test\ninclude: [a.yaml, b.yaml]\n");
  const Case spec = files.load("x.yaml").front();
  EXPECT_EQ(spec.seed, 2u);
  EXPECT_EQ(spec.tokens, 1);
}

TEST(Include, AValueGoesOverAnAxisAndAnAxisOverAValue) {
  const Files files;
  files.write("base.yaml", std::string(kModel) + "chunk: 4\naxes: {tokens: [1, 5], dtype: [f32, bf16]}\n");
  files.write("x.yaml", "scenario: Test\ninclude: base.yaml\ntokens: 7\naxes: {chunk: [0, 2]}\n");
  EXPECT_THAT(ids(files.load("x.yaml")), ElementsAre("f32-c0", "f32-c2", "bf16-c0", "bf16-c2"));
}

TEST(Include, OverridingOneKeyOfALockstepLeavesTheOthers) {
  const Files files;
  files.write("base.yaml", std::string(kModel) + "lockstep: {tokens: [5, 6], chunk: [0, 4]}\n");
  files.write("x.yaml", "scenario: Test\ninclude: base.yaml\ntokens: 9\n");
  files.write("y.yaml", "scenario: Test\ninclude: base.yaml\nchunk: 2\n");
  EXPECT_THAT(ids(files.load("x.yaml")), ElementsAre("c0", "c4"));
  EXPECT_THAT(ids(files.load("y.yaml")), ElementsAre("t5", "t6"));
  EXPECT_EQ(files.load("y.yaml")[1].chunk, 2);
}

TEST(Include, ExpectationsAreReplacedAsAWhole) {
  const Files files;
  files.write("base.yaml", std::string(kModel) + "tokens: 5\nexpect: {status: fail}\n");
  files.write("x.yaml", "scenario: Test\ninclude: base.yaml\n");
  files.write("y.yaml", "scenario: Test\ninclude: base.yaml\nexpect: {status: inconclusive}\n");
  EXPECT_EQ(files.load("x.yaml").front().expect.status, Status::fail);
  EXPECT_EQ(files.load("y.yaml").front().expect.status, Status::inconclusive);
}

TEST(Include, MistakesKeepTheirOwnFileAndAreReportedOnce) {
  const Files files;
  files.write("parts/toy.yaml", "model: {hidden: 64, inter: 32, experts: 8, top_k: 9}\nsed: 1\ntokens: 5\n");
  files.write("x.yaml", "scenario: X\ninclude: parts/toy.yaml\n");
  files.write("y.yaml", "scenario: Y\ninclude: parts/toy.yaml\n");
  EXPECT_THAT(files.mistakes({"x.yaml", "y.yaml"}),
              ElementsAre(HasSubstr("parts/toy.yaml:1:51: error: found '9': top_k must not exceed experts (8)"),
                          HasSubstr("parts/toy.yaml:2:1: error: found 'sed'")));
}

TEST(Include, OfItselfIsAMistakeThatNamesTheCycle) {
  const Files files;
  files.write("a.yaml", "scenario: A\ninclude: [b.yaml]\n");
  files.write("b.yaml", "include: c/../a.yaml\n");
  files.write("c/empty", "");
  EXPECT_THAT(files.mistakes({"a.yaml"}), ElementsAre("b.yaml:1:10: error: found 'a.yaml': the file includes itself: "
                                                      "a.yaml -> b.yaml -> a.yaml; remove one of these includes"));
}

TEST(Include, OfTheSameFileOnTwoWaysIsNoCycle) {
  const Files files;
  files.write("toy.yaml", std::string(kModel) + "tokens: 5\n");
  files.write("a.yaml", "include: toy.yaml\n");
  files.write("b.yaml", "include: toy.yaml\nseed: 2\n");
  files.write("x.yaml", "scenario: Test\ninclude: [a.yaml, b.yaml]\n");
  EXPECT_EQ(files.load("x.yaml").front().seed, 2u);
}

TEST(Include, OfAMissingFileIsReportedAloneAtItsPlace) {
  const Files files;
  files.write("x.yaml", "scenario: Test\ninclude: [toy.yaml]\n");
  EXPECT_THAT(files.mistakes({"x.yaml"}), ElementsAre("x.yaml:2:11: error: found 'toy.yaml': there is no such file; an "
                                                      "include is a path relative to the folder of its own file"));
}

TEST(Include, PathsAreRelativeToTheFileThatNamesThem) {
  const Files files;
  files.write(
      "models/m.yaml",
      std::string(kModel) +
          "tokens: 5\ninput: {kind: capture, capture: data/c.safetensors, hidden_states: h, weights_prefix: w}\n");
  files.write("streams/x.yaml", "scenario: Test\ninclude: ../models/m.yaml\ninput: {checkpoint: w.safetensors}\n");
  const Case spec = files.load("streams/x.yaml").front();
  EXPECT_EQ(spec.input.capture, files.path("models/data/c.safetensors"));
  EXPECT_EQ(spec.input.checkpoint, files.path("streams/w.safetensors"));
  EXPECT_EQ(spec.input.place.line, 3);
}

}  // namespace
}  // namespace moediff::testing
