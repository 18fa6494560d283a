#include "harness/cli/expectation.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

Verdict founding_bug() {
  Verdict verdict;
  verdict.status = Status::fail;
  verdict.cause = Cause::stale_read;
  verdict.blame.op = "shared_gemm1";
  verdict.blame.value = "hidden_states";
  verdict.blame.writer = "combine";
  return verdict;
}

Expectation expected_bug() {
  Expectation expected;
  expected.status = Status::fail;
  expected.cause = Cause::stale_read;
  expected.blame_op = "shared_gemm1";
  expected.blame_writer = "combine";
  return expected;
}

TEST(Expectation, IsMetByTheVerdictItDescribes) { EXPECT_EQ(unexpected_because(expected_bug(), founding_bug()), ""); }

TEST(Expectation, APassOfAKnownFailureIsUnexpected) { EXPECT_NE(unexpected_because(expected_bug(), Verdict{}), ""); }

TEST(Expectation, ARightStatusForTheWrongReasonIsUnexpected) {
  Verdict other = founding_bug();
  other.cause = Cause::wrong_math;
  EXPECT_EQ(unexpected_because(expected_bug(), other), "cause is wrong_math, expected stale_read");
  Verdict innocent = founding_bug();
  innocent.blame.writer = "gemm2";
  EXPECT_EQ(unexpected_because(expected_bug(), innocent), "blamed writer is 'gemm2', expected 'combine'");
}

TEST(Expectation, WhatIsNotStatedIsNotCompared) {
  Expectation any;
  any.status = Status::fail;
  EXPECT_EQ(unexpected_because(any, founding_bug()), "");
}

}  // namespace
}  // namespace moediff
