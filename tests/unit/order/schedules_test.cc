// Six broken schedules of a two-stream toy and a good one, each written by hand; the fork and join; the pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/order/toy.h"

namespace moediff::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> found(const Program& program) {
  validate(program);
  return summary(program, analyse_order(program, traced(program), nullptr));
}

/// x -> routed (main, in place when asked) and shared (aux, from a clone when asked); add joins them.
struct ForkJoin {
  bool clone = true, in_place = true, fork = true, join = true;
};
Program fork_join(const ForkJoin& options) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), c = options.clone ? toy.alone("c") : x;
  const int routed = options.in_place ? toy.value("routed", toy.program.values[x].buffer) : toy.alone("routed");
  const int shared = toy.alone("shared"), sum = toy.alone("sum");
  if (options.clone) toy.call("clone", 0, {x}, c);
  if (options.fork) toy.wait("fork", 0, 1);
  toy.call("combine", 0, {x}, routed);
  toy.call("shared_gemm1", 1, {c}, shared);
  if (options.join) toy.wait("join", 1, 0);
  toy.call("add", 0, {routed, shared}, sum);
  toy.program.outputs = {sum};
  return toy.program;
}

TEST(Schedules, AGoodForkAndJoinHasNoHazard) { EXPECT_THAT(found(fork_join({})), IsEmpty()); }

TEST(Schedules, InPlaceWriteWhileTheAuxStreamReads) {
  const Program program = fork_join({.clone = false});
  const OrderResult result = analyse_order(program, traced(program), nullptr);
  ASSERT_THAT(summary(program, result), ElementsAre("unordered_access combine>shared_gemm1 x"));
  EXPECT_EQ(result.hazards[0].edge_missing, "main must wait for aux's shared_gemm1 before combine");
}

TEST(Schedules, MissingJoin) {
  const Program program = fork_join({.join = false});
  const OrderResult result = analyse_order(program, traced(program), nullptr);
  ASSERT_THAT(summary(program, result), ElementsAre("unordered_access shared_gemm1>add shared"));
  EXPECT_EQ(result.hazards[0].edge_missing, "main must wait for aux's shared_gemm1 before add");
  EXPECT_EQ(result.hazards[0].edge_from, step_named(program, "shared_gemm1"));
  EXPECT_EQ(result.hazards[0].edge_to, step_named(program, "add"));
}

TEST(Schedules, MissingFork) {
  const Program program = fork_join({.fork = false});
  const OrderResult result = analyse_order(program, traced(program), nullptr);
  ASSERT_THAT(summary(program, result), ElementsAre("unordered_access clone>shared_gemm1 c"));
  EXPECT_EQ(result.hazards[0].edge_missing, "aux must wait for main's clone before shared_gemm1");
}

// vllm#28942: one stream, routed first, in place.
Program founding_bug() {
  Toy toy({"main"});
  const int x = toy.alone("x", true), routed = toy.value("routed", toy.program.values[x].buffer);
  const int shared = toy.alone("shared"), act = toy.alone("act"), sum = toy.alone("sum");
  toy.call("combine", 0, {x}, routed);
  toy.call("shared_gemm1", 0, {x}, shared);
  toy.call("shared_act", 0, {shared}, act);
  toy.call("add", 0, {routed, act}, sum);
  toy.program.outputs = {sum};
  return toy.program;
}

TEST(Schedules, SameStreamClobberIsAStaleReadAndItsFollowersAreNone) {
  const Program program = founding_bug();
  const OrderResult result = analyse_order(program, traced(program), nullptr);
  ASSERT_THAT(summary(program, result), ElementsAre("stale_read combine>shared_gemm1 x"));
  EXPECT_EQ(result.hazards[0].edge_missing, "");
  EXPECT_EQ(result.hazards[0].region.bytes(), 64);
}

TEST(Schedules, TheFoundingBugIsFoundWithoutRunningAnything) {
  const OrderResult result = static_check(founding_bug());
  EXPECT_THAT(summary(founding_bug(), result), ElementsAre("stale_read combine>shared_gemm1 x"));
  EXPECT_FALSE(result.complete);
}

TEST(Schedules, EveryLaterReaderOfAClobberedValueIsAVictim) {
  Toy toy({"main"});
  const int x = toy.alone("x", true), routed = toy.value("routed", 0), a = toy.alone("a"), b = toy.alone("b");
  toy.call("combine", 0, {x}, routed);
  toy.call("late", 0, {x}, a);
  toy.call("residual", 0, {a, x}, b);
  EXPECT_THAT(found(toy.program), ElementsAre("stale_read combine>late x", "stale_read combine>residual x"));
}

TEST(Schedules, InPlaceInsideOneStepIsNoHazard) {
  Toy toy({"main"});
  const int x = toy.alone("x", true), y = toy.value("y", 0), z = toy.alone("z");
  toy.call("scale", 0, {x}, y);
  toy.call("use", 0, {y}, z);
  EXPECT_THAT(found(toy.program), IsEmpty());
}

// A view of some rows, of some columns: only bytes that really overlap are in conflict.
Program view_written(const Region& written, const Region& read) {
  Toy toy({"main"});
  const int big = toy.buffer("big", BufferKind::input, 400);
  const int whole = toy.value("whole", big, true, read), part = toy.value("part", big, false, written),
            out = toy.alone("out");
  const int a = toy.alone("a", true);
  toy.call("write_view", 0, {a}, part);
  toy.call("read_view", 0, {whole}, out);
  return toy.program;
}

TEST(Schedules, AnInteriorViewWrittenBeforeItsReader) {
  EXPECT_THAT(found(view_written({80, 1, 40, 40}, {0, 10, 40, 40})),
              ElementsAre("stale_read write_view>read_view whole"));
}

TEST(Schedules, DisjointColumnsOfTheSameRowsDoNotConflict) {
  EXPECT_THAT(found(view_written({24, 10, 16, 40}, {0, 10, 24, 40})), IsEmpty());
  EXPECT_THAT(found(view_written({23, 10, 16, 40}, {0, 10, 24, 40})),
              ElementsAre("stale_read write_view>read_view whole"));
}

TEST(Schedules, ReadBeforeWrittenIsUninitialisedOrStale) {
  Toy toy({"main"});
  const int a = toy.alone("a", true), v = toy.alone("v"), out = toy.alone("out"), late = toy.value("late", 0),
            out2 = toy.alone("out2");
  toy.call("read_v", 0, {v}, out);
  toy.call("read_late", 0, {late}, out2);
  toy.call("write_v", 0, {a}, v);
  toy.call("write_late", 0, {a}, late);
  EXPECT_THAT(found(toy.program), ElementsAre("stale_read ->read_late late", "uninitialised ->read_v v"));
}

TEST(Schedules, UnorderedWritersOfTheSameBytes) {
  Toy toy({"main", "aux"});
  const int a = toy.alone("a", true), first = toy.alone("first"),
            second = toy.value("second", toy.program.values[first].buffer);
  toy.call("one", 0, {a}, first);
  toy.call("two", 1, {a}, second);
  EXPECT_THAT(found(toy.program), ElementsAre("unordered_access one>two second"));
}

TEST(Schedules, AnOutputOverwrittenBeforeTheHostReadsIt) {
  Toy toy({"main"});
  const int a = toy.alone("a", true), y = toy.alone("y"), z = toy.value("z", toy.program.values[y].buffer);
  toy.call("make", 0, {a}, y);
  toy.call("spoil", 0, {a}, z);
  toy.program.outputs = {y};
  EXPECT_THAT(found(toy.program), ElementsAre("stale_read spoil>- y"));
}

TEST(Schedules, AHostSynchronisationReplacesAWait) {
  Toy toy({"main", "aux"});
  const int a = toy.alone("a", true), b = toy.alone("b"), c = toy.alone("c");
  toy.call("make", 0, {a}, b);
  toy.host_sync();
  toy.call("use", 1, {b}, c);
  EXPECT_THAT(found(toy.program), IsEmpty());
}

TEST(Schedules, WorkOnTheNullStreamIsOrderedForBlockingStreamsOnly) {
  Toy toy({"main", "aux"});
  const int a = toy.alone("a", true), b = toy.alone("b"), c = toy.alone("c");
  toy.call("make", 0, {a}, b);
  toy.call("use", 1, {b}, c);
  auto run = traced(toy.program);
  run.trace[0].stream = 0;
  EXPECT_THAT(summary(toy.program, analyse_order(toy.program, run, nullptr)), IsEmpty());
  run.trace[1].blocking = false;
  EXPECT_THAT(summary(toy.program, analyse_order(toy.program, run, nullptr)),
              ElementsAre("unordered_access make>use b"));
}

TEST(Schedules, AStepThatLaunchedNothingStillCountsInIssueOrder) {
  const Program program = fork_join({});
  auto run = traced(program);
  run.trace.erase(run.trace.begin() + step_named(program, "shared_gemm1"));
  EXPECT_THAT(summary(program, analyse_order(program, run, nullptr)), IsEmpty());
}

}  // namespace
}  // namespace moediff::test
