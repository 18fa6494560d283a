// The order of trust: the run, then structure, then numbers; and nothing compared is no pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/judge/founding_case.h"

namespace moediff::test {
namespace {

using testing::HasSubstr;

TEST(Judge, RightNumbersWithoutHazardPass) { EXPECT_EQ(FoundingCase().verdict().status, Status::pass); }

TEST(Judge, TheRunItselfComesFirst) {
  const std::vector<std::pair<RunStatus, Cause>> rows{{RunStatus::crash, Cause::crash},
                                                      {RunStatus::hang, Cause::hang},
                                                      {RunStatus::out_of_bounds, Cause::out_of_bounds},
                                                      {RunStatus::provider_error, Cause::other}};
  for (const auto& [status, cause] : rows) {
    FoundingCase founding;
    founding.plant();
    founding.run.status = status;
    founding.run.detail = "signal 11 in step gemm1";
    founding.run.failing_step = 0;
    const Verdict verdict = judge(founding.program, founding.run, founding.order, nullptr);
    EXPECT_EQ(verdict.status, Status::fail);
    EXPECT_EQ(verdict.cause, cause);
    EXPECT_EQ(verdict.blame.op, "gemm1");
    EXPECT_THAT(verdict.explanation, HasSubstr("signal 11"));
  }
}

TEST(Judge, AnErrorOfTheMachineIsNoFailureOfTheCandidate) {
  FoundingCase founding;
  founding.run.status = RunStatus::error;
  founding.run.detail = "out of memory";
  EXPECT_EQ(founding.verdict().status, Status::error);
  EXPECT_FALSE(founding.verdict().cause.has_value());
}

TEST(Judge, ADamagedRedZoneNamesStepAndBuffer) {
  FoundingCase founding;
  founding.run.red_zone_hits = {"combine wrote 4 bytes past gemm1_out"};
  const Verdict verdict = founding.verdict();
  EXPECT_EQ(verdict.cause, Cause::out_of_bounds);
  EXPECT_EQ(verdict.blame.op, "combine");
  EXPECT_EQ(verdict.blame.buffer, "gemm1_out");
}

TEST(Judge, OtherBitsOnRepetitionAreNondeterminism) {
  FoundingCase founding;
  founding.run.accesses.resize(1);
  founding.run.accesses[0].step = 1;
  founding.run.accesses[0].repeated_bitwise = false;
  EXPECT_EQ(founding.verdict().cause, Cause::nondeterministic);
  EXPECT_EQ(founding.verdict().blame.op, "combine");
  founding.run.accesses[0].depends_on = {0};  // then the undeclared block explains it
  EXPECT_EQ(founding.verdict().status, Status::pass);
}

TEST(Judge, TheFirstFailingStageInIssueOrderDecides) {
  FoundingCase founding;
  founding.stage(3, DiffMode::local).beyond_statistical = 1;
  StageDiff& combine = founding.stage(1, DiffMode::local);
  combine.beyond_statistical = 2;
  combine.max_rel = 0.5;
  combine.worst = Mismatch{{3, 17}, 3, -1, 17, -1, 1.0, 1.5, 0.01};
  const Verdict verdict = founding.verdict();
  EXPECT_EQ(verdict.cause, Cause::wrong_math);
  EXPECT_FALSE(verdict.certain);
  EXPECT_EQ(verdict.blame.op, "combine");
  EXPECT_EQ(verdict.blame.value, "routed_out");
  EXPECT_EQ(verdict.blame.buffer, "hidden_states");
  EXPECT_EQ(verdict.explanation,
            "combine (main) computes routed_out wrong from the right inputs: 2 of 16 values are beyond their bound, "
            "worst 1.5 instead of 1 (bound 0.01) at token 3, column 17, 0.5 of max|expected|.");
}

TEST(Judge, BeyondTheHardBoundIsCertain) {
  FoundingCase founding;
  StageDiff& stage = founding.stage(1, DiffMode::local);
  stage.beyond_statistical = stage.beyond_hard = 1;
  EXPECT_TRUE(founding.verdict().certain);
}

TEST(Judge, WrongRoutingAndNotFiniteAreCausesOfTheirOwn) {
  FoundingCase founding;
  founding.stage(1, DiffMode::local).not_finite = 3;
  EXPECT_EQ(founding.verdict().cause, Cause::nan);
  founding.stage(0, DiffMode::local).routing_wrong = true;
  EXPECT_EQ(founding.verdict().cause, Cause::wrong_routing);
}

TEST(Judge, OtherDataWithoutAnAccessInTheWrongOrderIsOther) {
  FoundingCase founding;
  founding.plant();
  founding.order.hazards.clear();
  EXPECT_EQ(founding.verdict().cause, Cause::other);
  founding.stage(2, DiffMode::as_read).beyond_statistical = 1;
  EXPECT_EQ(founding.verdict().cause, Cause::wrong_math);
}

TEST(Judge, OutputsWrongEndToEndFailThoughEveryStageIsRight) {
  FoundingCase founding;
  founding.stage(3, DiffMode::chained).beyond_statistical = 1;
  EXPECT_EQ(founding.verdict().cause, Cause::wrong_math);
  EXPECT_THAT(founding.verdict().explanation, HasSubstr("end to end"));
}

TEST(Judge, NothingComparedOrOnlyZerosIsInconclusive) {
  FoundingCase founding;
  founding.stage(3, DiffMode::chained).nonzero = 0;
  EXPECT_EQ(founding.verdict().status, Status::inconclusive);
  founding.diff.stages.clear();
  EXPECT_EQ(founding.verdict().status, Status::inconclusive);
  EXPECT_EQ(judge(founding.program, founding.run, founding.order, nullptr).status, Status::inconclusive);
}

TEST(Judge, AStageThatCouldNotBeComparedIsInconclusive) {
  FoundingCase founding;
  StageDiff& stage = founding.stage(0, DiffMode::local);
  stage.compared = 0;
  stage.not_comparable = "expert_offsets is not a partition of the rows";
  EXPECT_EQ(founding.verdict().status, Status::inconclusive);
  EXPECT_THAT(founding.verdict().explanation, HasSubstr("expert_offsets is not a partition"));
}

}  // namespace
}  // namespace moediff::test
