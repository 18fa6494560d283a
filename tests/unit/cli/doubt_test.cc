#include "harness/cli/doubt.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

Run observation(RunStatus status) {
  Run run;
  run.status = status;
  run.detail = "signal 11 in gemm1";
  return run;
}

TEST(Doubt, APassWhoseObservationDidNotEndIsAnError) {
  Verdict verdict;
  doubt_unwatched(verdict, observation(RunStatus::crash));
  EXPECT_EQ(verdict.status, Status::error);
  EXPECT_NE(verdict.explanation.find("signal 11 in gemm1"), std::string::npos);
}

TEST(Doubt, APassWhoseObservationEndedStands) {
  Verdict verdict;
  doubt_unwatched(verdict, observation(RunStatus::ok));
  EXPECT_EQ(verdict.status, Status::pass);
}

TEST(Doubt, AFailureKeepsItsCause) {
  Verdict verdict;
  verdict.status = Status::fail;
  verdict.cause = Cause::stale_read;
  doubt_unwatched(verdict, observation(RunStatus::hang));
  EXPECT_EQ(verdict.status, Status::fail);
  EXPECT_EQ(verdict.cause, Cause::stale_read);
}

}  // namespace
}  // namespace moediff
