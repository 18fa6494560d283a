// The summary decides the exit status, so every way of being unexpected must be counted.
#include <gtest/gtest.h>

#include "harness/store/record.h"

namespace moediff {
namespace {

CaseRecord record(Status status, bool as_expected) {
  CaseRecord made;
  made.verdict.status = status;
  made.as_expected = as_expected;
  return made;
}

RelationRecord relation(Status status) {
  RelationRecord made;
  made.status = status;
  return made;
}

TEST(Summarize, CountsEachStatusOnce) {
  Report report;
  report.cases = {record(Status::pass, true),         record(Status::pass, true),    record(Status::fail, true),
                  record(Status::inconclusive, true), record(Status::skipped, true), record(Status::error, true)};
  summarize(report);
  const Summary& s = report.summary;
  EXPECT_EQ(s.cases, 6);
  EXPECT_EQ(s.pass, 2);
  EXPECT_EQ(s.fail, 1);
  EXPECT_EQ(s.inconclusive, 1);
  EXPECT_EQ(s.skipped, 1);
  EXPECT_EQ(s.error, 1);
  EXPECT_EQ(s.as_expected, 6);
  EXPECT_EQ(s.unexpected, 0);
}

TEST(Summarize, ACollapsedCaseCountsWithTheStatusOfTheOneThatStandsForIt) {
  Report report;
  report.cases = {record(Status::fail, false), record(Status::pass, true)};
  report.cases[0].collapsed = {"a", "b"};
  summarize(report);
  EXPECT_EQ(report.summary.cases, 4);
  EXPECT_EQ(report.summary.collapsed, 2);
  EXPECT_EQ(report.summary.fail, 3);
  EXPECT_EQ(report.summary.unexpected, 3);
  EXPECT_EQ(report.summary.as_expected, 1);
}

TEST(Summarize, AnUnexpectedPassIsUnexpected) {
  Report report;
  report.cases = {record(Status::pass, false)};
  summarize(report);
  EXPECT_EQ(report.summary.pass, 1);
  EXPECT_EQ(report.summary.unexpected, 1);
}

TEST(Summarize, ARelationThatDoesNotHoldIsUnexpectedAndASkippedOneIsNot) {
  Report report;
  report.relations = {relation(Status::pass), relation(Status::skipped), relation(Status::fail),
                      relation(Status::inconclusive), relation(Status::error)};
  summarize(report);
  EXPECT_TRUE(report.relations[0].as_expected);
  EXPECT_TRUE(report.relations[1].as_expected);
  EXPECT_FALSE(report.relations[2].as_expected);
  EXPECT_FALSE(report.relations[3].as_expected);
  EXPECT_FALSE(report.relations[4].as_expected);
  EXPECT_EQ(report.summary.relations, 5);
  EXPECT_EQ(report.summary.relations_pass, 1);
  EXPECT_EQ(report.summary.relations_fail, 1);
  EXPECT_EQ(report.summary.relations_skipped, 1);
  EXPECT_EQ(report.summary.relations_unexpected, 3);
  EXPECT_EQ(report.summary.unexpected, 3);
}

TEST(Summarize, StatusesOfCasesAndOfRelationsAreKeptApart) {
  Report report;
  report.cases = {record(Status::pass, true)};
  report.relations = {relation(Status::fail)};
  summarize(report);
  EXPECT_EQ(report.summary.fail, 0);
  EXPECT_EQ(report.summary.cases, report.summary.as_expected);
}

TEST(Summarize, KeepsTheSecondsAndForgetsEarlierCounts) {
  Report report;
  report.summary.seconds = 3.5;
  report.summary.pass = 99;
  summarize(report);
  EXPECT_EQ(report.summary.seconds, 3.5);
  EXPECT_EQ(report.summary.pass, 0);
}

}  // namespace
}  // namespace moediff
