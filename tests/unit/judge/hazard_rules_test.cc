// What a verdict says of a hazard: cause, blame and sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/judge/founding_case.h"

namespace moediff::test {
namespace {

using testing::HasSubstr;

TEST(HazardRules, TheFoundingBugIsBlamedOnTheReaderOfTheOverwrittenValue) {
  FoundingCase founding;
  founding.plant();
  const Verdict verdict = founding.verdict();
  EXPECT_EQ(verdict.status, Status::fail);
  EXPECT_EQ(verdict.cause, Cause::stale_read);
  EXPECT_TRUE(verdict.certain);
  EXPECT_EQ(verdict.confidence, Confidence::unknown);
  EXPECT_EQ(verdict.hazard, 0);
  EXPECT_EQ(verdict.blame.op, "shared_gemm1");
  EXPECT_EQ(verdict.blame.stage, "shared_gemm1");
  EXPECT_EQ(verdict.blame.value, "hidden_states");
  EXPECT_EQ(verdict.blame.buffer, "hidden_states");
  EXPECT_EQ(verdict.blame.writer, "combine");
  EXPECT_EQ(verdict.blame.stream, "main");
  EXPECT_EQ(verdict.blame.step, 2);
}

TEST(HazardRules, TheSentenceCountsBytesAndQuotesBothComparisons) {
  FoundingCase founding;
  founding.plant();
  EXPECT_EQ(founding.verdict().explanation,
            "shared_gemm1 (main) reads hidden_states after combine (main) overwrote it with routed_out in "
            "place: 63 of 64 bytes are another version; given what it read its result is right (0.12 of the "
            "error budget), given what it should have read it is off by 0.31 of max|expected|.");
}

TEST(HazardRules, AnUndeclaredWriteIsBlamedOnItsWriter) {
  FoundingCase founding;
  founding.plant();
  founding.order.hazards[0].kind = Cause::undeclared_write;
  founding.order.hazards[0].undeclared = true;
  const Verdict verdict = founding.verdict();
  EXPECT_EQ(verdict.cause, Cause::undeclared_write);
  EXPECT_EQ(verdict.blame.op, "combine");
  EXPECT_EQ(verdict.blame.writer, "combine");
  EXPECT_EQ(verdict.blame.value, "hidden_states");
  EXPECT_THAT(verdict.explanation, HasSubstr("shared_gemm1 (main) means to read hidden_states there"));
  founding.order.hazards[0].reader = -1;
  EXPECT_EQ(founding.verdict().blame.op, "combine");
}

TEST(HazardRules, AHazardFailsTheCaseEvenWhenThisRunsNumbersAreRight) {
  FoundingCase founding;
  const Diff all_right = founding.diff;
  founding.plant();
  founding.diff = all_right;
  founding.order.hazards[0].kind = Cause::unordered_access;
  founding.order.hazards[0].edge_missing = "aux must wait for main's combine before shared_gemm1";
  const Verdict verdict = founding.verdict();
  EXPECT_EQ(verdict.cause, Cause::unordered_access);
  EXPECT_THAT(verdict.explanation, HasSubstr("aux must wait for main's combine before shared_gemm1"));
  EXPECT_THAT(verdict.explanation, HasSubstr("in this run its result is right nonetheless"));
}

TEST(HazardRules, ARunThatSawTheRightVersionIsNotSaidToHaveSeenAnother) {
  FoundingCase founding;
  founding.plant();
  founding.run.capture.operands[2][0] = founding.run.capture.operands[0][0];
  EXPECT_THAT(founding.verdict().explanation, testing::Not(HasSubstr("another version")));
}

TEST(HazardRules, MemoryOfTheProviderIsNamedByItsLabel) {
  FoundingCase founding;
  founding.plant();
  Hazard& hazard = founding.order.hazards[0];
  hazard.kind = Cause::shared_workspace;
  hazard.value = hazard.buffer = -1;
  hazard.memory = "static data of builtin";
  EXPECT_EQ(founding.verdict().blame.buffer, "static data of builtin");
  EXPECT_EQ(founding.verdict().blame.value, "");
}

TEST(HazardRules, EveryKindOfHazardHasItsSentence) {
  for (const Cause kind : {Cause::stale_read, Cause::undeclared_write, Cause::undeclared_read, Cause::unordered_access,
                           Cause::lifetime, Cause::shared_workspace, Cause::uninitialised}) {
    FoundingCase founding;
    founding.plant();
    founding.order.hazards[0].kind = kind;
    EXPECT_EQ(founding.verdict().cause, kind);
    EXPECT_THAT(founding.verdict().explanation, HasSubstr("shared_gemm1 (main)")) << to_string(kind);
    founding.order.hazards[0].writer = kind == Cause::undeclared_write ? 1 : -1;
    EXPECT_FALSE(founding.verdict().explanation.empty()) << to_string(kind);
  }
}

}  // namespace
}  // namespace moediff::test
