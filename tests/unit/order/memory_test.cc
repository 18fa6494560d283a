// Scratch and pooled memory: who may use the same bytes, and until when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/order/toy.h"

namespace moediff::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

OrderResult analysed(const Program& program) {
  validate(program);
  return analyse_order(program, traced(program), nullptr);
}

Program two_gemms(int second_stream) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), a = toy.alone("a"), b = toy.alone("b");
  const int scratch = toy.buffer("scratch", BufferKind::workspace);
  const int ws1 = toy.value("ws1", scratch), ws2 = toy.value("ws2", scratch);
  toy.gemm("gemm1", 0, x, a, ws1);
  toy.gemm("shared_gemm1", second_stream, x, b, ws2);
  return toy.program;
}

TEST(Workspace, OneScratchOnTwoStreamsIsShared) {
  const Program program = two_gemms(1);
  const OrderResult result = analysed(program);
  ASSERT_THAT(summary(program, result), ElementsAre("shared_workspace gemm1>shared_gemm1"));
  EXPECT_EQ(program.buffers[result.hazards[0].buffer].name, "scratch");
  EXPECT_EQ(result.hazards[0].edge_missing, "aux must wait for main's gemm1 before shared_gemm1");
}

TEST(Workspace, OneScratchInTurnIsFine) {
  const Program program = two_gemms(0);
  EXPECT_THAT(summary(program, analysed(program)), IsEmpty());
}

TEST(Workspace, StaticScratchOfTheProviderIsFoundByObservation) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), a = toy.alone("a"), b = toy.alone("b");
  const int first = toy.call("gemm1", 0, {x}, a), second = toy.call("shared_gemm1", 1, {x}, b);
  const auto run = traced(toy.program);
  auto seen = observed(toy.program, run);
  seen.blocks.push_back({"static data of builtin", 4096, true});
  const int block = static_cast<int>(seen.blocks.size()) - 1;
  seen.accesses[first].touches.push_back({block, 0, 4096, Touch::What::write});
  EXPECT_THAT(summary(toy.program, analyse_order(toy.program, run, &seen)), IsEmpty());
  seen.accesses[second].touches.push_back({block, 0, 4096, Touch::What::read});
  EXPECT_THAT(summary(toy.program, analyse_order(toy.program, run, &seen)),
              ElementsAre("shared_workspace gemm1>shared_gemm1 static data of builtin"));
}

/// A pooled clone read on aux; freed on main, before or after main waited for aux; the block is then reused.
Program pooled_clone(bool free_before_join, bool reuse) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), s = toy.alone("s"), y = toy.alone("y");
  const int clone = toy.buffer("clone", BufferKind::activation, 64, true),
            tmp = toy.buffer("tmp", BufferKind::activation, 64, reuse);
  const int c = toy.value("c", clone), t = toy.value("t", tmp);
  toy.alloc(clone, 0);
  toy.call("copy", 0, {x}, c);
  toy.wait("fork", 0, 1);
  toy.call("shared", 1, {c}, s);
  if (free_before_join) toy.free(clone, 0);
  if (free_before_join && reuse) toy.alloc(tmp, 0);
  if (!free_before_join) toy.wait("join", 1, 0);
  if (!free_before_join) toy.free(clone, 0);
  if (!free_before_join && reuse) toy.alloc(tmp, 0);
  toy.call("gemm1", 0, {x}, t);
  if (free_before_join) toy.wait("join", 1, 0);
  toy.call("add", 0, {t, s}, y);
  toy.program.outputs = {y};
  return toy.program;
}

TEST(Lifetime, FreedAfterTheJoinIsFine) {
  const Program program = pooled_clone(false, true);
  EXPECT_THAT(summary(program, analysed(program)), IsEmpty());
}

TEST(Lifetime, FreedBeforeTheReaderIsDoneNamesTheNextTenantsWriter) {
  const Program program = pooled_clone(true, true);
  const OrderResult result = analysed(program);
  ASSERT_THAT(summary(program, result), ElementsAre("lifetime gemm1>shared c"));
  EXPECT_EQ(result.hazards[0].edge_missing, "main must wait for aux's shared before free clone");
}

TEST(Lifetime, FreedTooEarlyIsAHazardEvenWhenNobodyGetsTheBlock) {
  const Program program = pooled_clone(true, false);
  EXPECT_THAT(summary(program, analysed(program)), ElementsAre("lifetime ->shared c"));
  EXPECT_THAT(summary(program, static_check(program)), ElementsAre("lifetime ->shared c"));
}

TEST(Lifetime, UseAfterFreeOnOneStream) {
  Toy toy({"main"});
  const int x = toy.alone("x", true), y = toy.alone("y"), z = toy.alone("z");
  const int pooled = toy.buffer("pooled", BufferKind::activation, 64, true), p = toy.value("p", pooled);
  toy.alloc(pooled, 0);
  toy.call("make", 0, {x}, p);
  toy.call("use", 0, {p}, y);
  toy.free(pooled, 0);
  toy.call("use_again", 0, {p}, z);
  const OrderResult result = analysed(toy.program);
  EXPECT_THAT(summary(toy.program, result), ElementsAre("lifetime ->use_again p"));
  EXPECT_EQ(result.hazards[0].edge_missing, "");
}

TEST(Lifetime, ABlockHandedToAnotherStreamTooSoon) {
  Toy toy({"main", "aux"});
  const int x = toy.alone("x", true), y = toy.alone("y"), z = toy.alone("z");
  const int one = toy.buffer("one", BufferKind::activation, 64, true),
            two = toy.buffer("two", BufferKind::activation, 64, true);
  const int v1 = toy.value("v1", one), v2 = toy.value("v2", two);
  toy.alloc(one, 0);
  toy.call("make1", 0, {x}, v1);
  toy.call("use1", 0, {v1}, y);
  toy.free(one, 0);
  toy.alloc(two, 1);
  toy.call("make2", 1, {x}, v2);
  toy.call("use2", 1, {v2}, z);
  EXPECT_THAT(
      summary(toy.program, analysed(toy.program)),
      testing::AllOf(testing::Contains("lifetime make2>use1 v1"), testing::Each(testing::StartsWith("lifetime"))));
}

}  // namespace
}  // namespace moediff::test
