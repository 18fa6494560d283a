// `expect:` and `when:`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> failing_tokens(const std::string& when) {
  std::vector<std::int64_t> failing;
  for (const Case& spec :
       load_text("axes: {tokens: [1, 5, 6, 257]}\nstream: aux\nexpect: {when: {" + when + "}, status: fail}\n")) {
    if (spec.expect.status == Status::fail) failing.push_back(spec.tokens);
  }
  return failing;
}

TEST(When, ComparesWithOneValueOrAnyOfSeveral) {
  EXPECT_THAT(failing_tokens("tokens: 5"), ElementsAre(5));
  EXPECT_THAT(failing_tokens("tokens: \"== 5\""), ElementsAre(5));
  EXPECT_THAT(failing_tokens("tokens: [5, 257]"), ElementsAre(5, 257));
  EXPECT_THAT(failing_tokens("tokens: \"!=5\""), ElementsAre(1, 6, 257));
}

TEST(When, ComparesNumbersAsNumbers) {
  EXPECT_THAT(failing_tokens("tokens: \">5\""), ElementsAre(6, 257));
  EXPECT_THAT(failing_tokens("tokens: \">= 6\""), ElementsAre(6, 257));
  EXPECT_THAT(failing_tokens("tokens: \"<6\""), ElementsAre(1, 5));
  EXPECT_THAT(failing_tokens("tokens: \"<= 6\""), ElementsAre(1, 5, 6));
}

TEST(When, SpeaksOfDerivedKeysAndOfKeysThatDoNotVary) {
  EXPECT_THAT(failing_tokens("effective_stream: none"), ElementsAre(257));
  EXPECT_THAT(failing_tokens("effective_stream: aux, n_shared: \">0\""), ElementsAre(1, 5, 6));
  EXPECT_THAT(failing_tokens("model.n_shared: 1, fault: none, tokens: 1"), ElementsAre(1));
}

TEST(Expect, TheFirstRuleThatFitsHoldsAndTheDefaultIsPass) {
  const std::vector<Case> cases = load_text(
      "axes: {tokens: [1, 5, 6]}\n"
      "expect:\n"
      "  - {when: {tokens: 1}, status: inconclusive}\n"
      "  - when: {tokens: [1, 5]}\n"
      "    status: fail\n"
      "    cause: stale_read\n"
      "    blame: {op: shared_gemm1, value: hidden_states, buffer: memory, writer: combine}\n");
  EXPECT_EQ(cases[0].expect, (Expectation{Status::inconclusive, {}, "", "", "", ""}));
  EXPECT_EQ(cases[1].expect,
            (Expectation{Status::fail, Cause::stale_read, "shared_gemm1", "hidden_states", "memory", "combine"}));
  EXPECT_EQ(cases[2].expect, Expectation{});
}

std::vector<std::string> mistakes_of_rules(const std::string& rules) {
  return mistakes_of("scenario: Test\n" + std::string(kModel) +
                     "axes: {tokens: [1, 5], stream: [none, fused], order: [shared_first, routed_first]}\nexpect:\n" +
                     rules);
}

TEST(Expect, ARuleForNothingIsAMistakeThatNamesTheCondition) {
  EXPECT_THAT(mistakes_of_rules("  - {when: {tokens: 5, chunk: \">0\"}, status: fail}\n"),
              ElementsAre("x.yaml:5:24: error: found '>0': the rule never applies: no case that runs has such a chunk; "
                          "there is 0; mend the condition or remove the rule"));
}

TEST(Expect, ARuleBehindOneThatTakesAllItsCasesIsAMistake) {
  EXPECT_THAT(mistakes_of_rules("  - {when: {tokens: [1, 5]}, status: fail}\n  - {when: {tokens: 5}, status: pass}\n"),
              ElementsAre("x.yaml:6:5: error: the rule never applies: every case it fits is taken by a rule before it; "
                          "put it before them, or remove it"));
}

TEST(Expect, ARuleWhoseConditionsNeverMeetIsAMistake) {
  EXPECT_THAT(
      mistakes_of(
          "scenario: Test\n" + std::string(kModel) +
          "lockstep: {tokens: [1, 5], chunk: [0, 4]}\nexpect:\n  - {when: {tokens: 1, chunk: 4}, status: fail}\n"),
      ElementsAre(HasSubstr("x.yaml:5:5: error: the rule never applies: no case that runs meets all its conditions")));
}

TEST(Expect, ARuleForSkippedCasesOnlyIsAMistake) {
  EXPECT_THAT(
      mistakes_of_rules("  - {when: {stream: fused, order: routed_first}, status: fail}\n"),
      ElementsAre(HasSubstr("x.yaml:5:5: error: the rule never applies: no case that runs meets all its conditions")));
}

}  // namespace
}  // namespace moediff::testing
