// Witness orders of hand-written hazards: what runs when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/order/brute_force.h"

namespace moediff::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> names(const Program& program, const Run& run, const std::vector<int>& order) {
  std::vector<std::string> found;
  for (const int item : order) found.push_back(program.steps[run.trace[item].step].name);
  return found;
}

TEST(Witness, TheWriterRunsBeforeTheVictim) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), routed = toy.value("routed", 0), s = toy.alone("s");
  toy.call("shared", 1, {x}, s);
  toy.call("combine", 0, {x}, routed);
  const auto run = traced(toy.program);
  const Hazard hazard = analyse_order(toy.program, run, nullptr).hazards.at(0);
  const auto orders = witness_orders(toy.program, run, hazard);
  ASSERT_THAT(orders, testing::SizeIs(1));
  EXPECT_THAT(names(toy.program, run, orders[0]), ElementsAre("combine", "shared"));
}

TEST(Witness, TheReaderRunsBeforeItsProducer) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), y = toy.alone("y"), z = toy.alone("z");
  toy.call("make", 0, {x}, y);
  toy.call("use", 1, {y}, z);
  const auto run = traced(toy.program);
  const auto orders = witness_orders(toy.program, run, analyse_order(toy.program, run, nullptr).hazards.at(0));
  ASSERT_THAT(orders, Not(IsEmpty()));
  EXPECT_THAT(names(toy.program, run, orders[0]), ElementsAre("use", "make"));
}

TEST(Witness, TwoUsersOfOneScratchInterleaveLaunchByLaunch) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), a = toy.alone("a"), b = toy.alone("b");
  const int scratch = toy.buffer("scratch", BufferKind::workspace);
  toy.gemm("gemm1", 0, x, a, toy.value("ws1", scratch));
  toy.gemm("shared", 1, x, b, toy.value("ws2", scratch));
  const auto run = traced(toy.program, {"gemm1", "shared"});
  const auto orders = witness_orders(toy.program, run, analyse_order(toy.program, run, nullptr).hazards.at(0));
  ASSERT_THAT(orders, Not(IsEmpty()));
  EXPECT_THAT(names(toy.program, run, orders[0]), ElementsAre("gemm1", "shared", "shared", "gemm1"));
  for (const auto& order : orders) EXPECT_TRUE(can_happen(run.trace, order));
}

TEST(Witness, AReaderTiedToTheFirstLaunchOfItsProducerRunsBeforeTheSecond) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), y = toy.alone("y"), z = toy.alone("z");
  toy.call("make", 0, {x}, y);
  toy.wait("fork", 0, 1);
  toy.call("use", 1, {y}, z);
  auto run = traced(toy.program);
  run.trace.insert(run.trace.begin() + 2, run.trace[0]);  // launched after the record
  const Hazard hazard = analyse_order(toy.program, run, nullptr).hazards.at(0);
  EXPECT_EQ(hazard.edge_missing, "aux must wait for main's make before use");
  const auto orders = witness_orders(toy.program, run, hazard);
  ASSERT_THAT(orders, testing::SizeIs(1));
  EXPECT_TRUE(can_happen(run.trace, orders[0]));
  EXPECT_THAT(names(toy.program, run, orders[0]), ElementsAre("make", "fork.record", "fork", "use", "make"));
}

TEST(Witness, TheNextTenantWritesBeforeTheLateReader) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), s = toy.alone("s"), y = toy.alone("y");
  const int one = toy.buffer("one", BufferKind::activation, 64, true),
            two = toy.buffer("two", BufferKind::activation, 64, true);
  const int v1 = toy.value("v1", one), v2 = toy.value("v2", two);
  toy.alloc(one, 0);
  toy.call("make1", 0, {x}, v1);
  toy.wait("fork", 0, 1);
  toy.call("late", 1, {v1}, s);
  toy.free(one, 0);
  toy.alloc(two, 0);
  toy.call("make2", 0, {x}, v2);
  toy.call("use2", 0, {v2}, y);
  const auto run = traced(toy.program);
  const Hazard hazard = analyse_order(toy.program, run, nullptr).hazards.at(0);
  ASSERT_EQ(hazard.kind, Cause::lifetime);
  const auto orders = witness_orders(toy.program, run, hazard);
  ASSERT_THAT(orders, Not(IsEmpty()));
  EXPECT_TRUE(shows_wrong_version(toy.program, run, orders[0]));
}

TEST(Witness, AnOrderedHazardNeedsNone) {
  Toy toy({"main"});
  const int x = toy.alone("x", true), routed = toy.value("routed", 0), s = toy.alone("s");
  toy.call("combine", 0, {x}, routed);
  toy.call("shared", 0, {x}, s);
  const auto run = traced(toy.program);
  EXPECT_THAT(witness_orders(toy.program, run, analyse_order(toy.program, run, nullptr).hazards.at(0)), IsEmpty());
}

}  // namespace
}  // namespace moediff::test
