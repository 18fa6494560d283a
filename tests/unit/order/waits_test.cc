// Waits: each one that is needed is missed when it is gone, each one that is not is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/order/toy.h"

namespace moediff::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Two forks and two joins, with one wait more that the second fork implies.
Program two_rounds() {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), c = toy.alone("c"), s = toy.alone("s"), y = toy.alone("y");
  const int c2 = toy.value("c2", toy.program.values[c].buffer), s2 = toy.alone("s2"), z = toy.alone("z");
  toy.call("clone", 0, {x}, c);
  toy.wait("fork", 0, 1);
  toy.call("shared", 1, {c}, s);
  toy.wait("join", 1, 0);
  toy.call("add", 0, {x, s}, y);
  toy.call("clone2", 0, {y}, c2);
  toy.wait("fork2", 0, 1);
  toy.wait("again", 0, 1);
  toy.call("shared2", 1, {c2}, s2);
  toy.wait("join2", 1, 0);
  toy.call("add2", 0, {y, s2}, z);
  toy.program.outputs = {z};
  return toy.program;
}

Program without(Program program, const std::string& wait) {
  program.steps.erase(program.steps.begin() + step_named(program, wait));
  return program;
}

std::vector<std::string> redundant(const Program& program) {
  std::vector<std::string> names;
  for (const int step : analyse_order(program, traced(program), nullptr).redundant_waits)
    names.push_back(program.steps[step].name);
  return names;
}

TEST(Waits, AWaitThatIsImpliedIsNamedAndCanGo) {
  const Program program = two_rounds();
  EXPECT_THAT(redundant(program), ElementsAre("again"));
  EXPECT_THAT(redundant(without(program, "again")), IsEmpty());
  EXPECT_THAT(analyse_order(without(program, "again"), traced(without(program, "again")), nullptr).hazards, IsEmpty());
}

TEST(Waits, EachNeededWaitIsMissedWithItsEdge) {
  const std::vector<std::pair<std::string, std::string>> edges{
      {"fork", "aux must wait for main's clone before shared"},
      {"join", "main must wait for aux's shared before add"},
      {"fork2", "aux must wait for main's clone2 before shared2"},
      {"join2", "main must wait for aux's shared2 before add2"}};
  const Program whole = without(two_rounds(), "again");
  for (const auto& [wait, edge] : edges) {
    const Program program = without(whole, wait);
    const OrderResult result = analyse_order(program, traced(program), nullptr);
    const auto has_edge = [text = edge](const Hazard& hazard) { return hazard.edge_missing == text; };
    EXPECT_TRUE(std::any_of(result.hazards.begin(), result.hazards.end(), has_edge)) << wait;
  }
}

TEST(Waits, AnEdgeThroughAThirdStreamMakesADirectOneRedundant) {
  Toy toy({"a", "b", "c"});
  const int x = toy.alone("x", true), y = toy.alone("y"), z = toy.alone("z");
  toy.call("make", 0, {x}, y);
  toy.wait("ab", 0, 1);
  toy.wait("bc", 1, 2);
  toy.wait("ac", 0, 2);
  toy.call("use", 2, {y}, z);
  EXPECT_THAT(redundant(toy.program), ElementsAre("ac"));
}

TEST(Waits, ALaterRecordOnTheSameStreamIsNotImplied) {
  Toy toy({"a", "b"});
  const int x = toy.alone("x", true), y = toy.alone("y"), z = toy.alone("z"), out = toy.alone("out");
  toy.call("make", 0, {x}, y);
  toy.wait("first", 0, 1);
  toy.call("make2", 0, {x}, z);
  toy.wait("second", 0, 1);
  toy.call("use", 1, {y, z}, out);
  EXPECT_THAT(redundant(toy.program), ElementsAre("first"));  // the second one implies it, nothing runs in between
}

}  // namespace
}  // namespace moediff::test
