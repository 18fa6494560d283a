// What observation adds to the declarations, and what it takes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/order/toy.h"

namespace moediff::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using What = Touch::What;

/// x is read by gemm, which makes a; later x is read again by residual. Buffers of two pages.
struct Chain {
  Toy toy{{"main"}};
  int x, a, b, gemm, act, residual;
  Run run, seen;

  Chain() {
    x = toy.value("x", toy.buffer("x", BufferKind::input, 8192), true, {0, 2, 100, 4096});
    a = toy.value("a", toy.buffer("a", BufferKind::activation, 8192), false, {0, 1, 100, 100});
    b = toy.alone("b");
    const int out = toy.alone("out");
    gemm = toy.call("gemm", 0, {x}, a);
    act = toy.call("act", 0, {a}, b);
    residual = toy.call("residual", 0, {b, x}, out);
    toy.program.outputs = {out};
    validate(toy.program);
    run = traced(toy.program);
    seen = observed(toy.program, run);
  }
  int buffer(int value) const { return toy.program.values[value].buffer; }
  OrderResult result() const { return analyse_order(toy.program, run, &seen); }
  std::vector<std::string> found() const { return summary(toy.program, result()); }
};

TEST(Observed, ExactlyTheDeclaredAccessesAreCompleteAndClean) {
  const Chain chain;
  EXPECT_THAT(chain.found(), IsEmpty());
  EXPECT_TRUE(chain.result().complete) << chain.result().incomplete_reason;
}

TEST(Observed, ChangedBytesOutsideTheDeclarationAreAnUndeclaredWriteWithItsVictim) {
  Chain chain;
  touch(chain.seen, chain.act, chain.buffer(chain.x), What::changed, 40, 44);
  ASSERT_THAT(chain.found(), ElementsAre("undeclared_write act>residual x"));
  EXPECT_EQ(chain.result().hazards[0].region, (Region{40, 1, 4, 4}));
  EXPECT_TRUE(chain.result().hazards[0].undeclared);
}

TEST(Observed, AnUndeclaredWriteWithoutVictimIsAHazardToo) {
  Chain chain;
  touch(chain.seen, chain.residual, chain.buffer(chain.a), What::changed, 0, 8);
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_write residual>- a"));
}

TEST(Observed, PaddingBesideADeclaredWriteIsNotDeclared) {
  Chain chain;
  touch(chain.seen, chain.gemm, chain.buffer(chain.a), What::changed, 100, 101);
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_write gemm>-"));  // no value lives there
}

TEST(Observed, WhatIsSpoiledBeforeItIsWrittenHasNoVictim) {
  Chain chain;  // gemm spoils b, which act then writes as a whole
  touch(chain.seen, chain.gemm, chain.buffer(chain.b), What::changed, 0, 8);
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_write gemm>-"));
}

TEST(Observed, WritingTheSameBytesIntoUndeclaredMemoryCountsByThePage) {
  Chain chain;
  touch(chain.seen, chain.act, chain.buffer(chain.x), What::write, 0, 4096);
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_write act>residual x"));
}

TEST(Observed, APageThatHoldsDeclaredBytesProvesNothing) {
  Chain chain;
  touch(chain.seen, chain.gemm, chain.buffer(chain.a), What::read, 0, 4096);
  EXPECT_THAT(chain.found(), IsEmpty());
}

TEST(Observed, AReadOfAnUndeclaredBufferNamesTheLastWriter) {
  Chain chain;
  touch(chain.seen, chain.residual, chain.buffer(chain.a), What::read, 0, 4096);
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_read gemm>residual a"));
}

TEST(Observed, AResultThatDependsOnAnUndeclaredBlockIsAnUndeclaredRead) {
  Chain chain;
  chain.seen.accesses[2].depends_on = {chain.seen.placement[chain.buffer(chain.a)].block};
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_read gemm>residual a"));
  EXPECT_EQ(chain.result().incomplete_reason, "residual depends on memory that it does not declare to read");
}

TEST(Observed, ADeclaredReadThatNeverHappensIsNoVictim) {
  Chain chain;
  const int block = chain.seen.placement[chain.buffer(chain.x)].block;
  std::erase_if(chain.seen.accesses[2].touches, [&](const Touch& touch) { return touch.block == block; });
  touch(chain.seen, chain.act, chain.buffer(chain.x), What::changed, 40, 44);
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_write act>- x"));
}

TEST(Observed, ADeclaredWriteThatNeverHappensLeavesItsReaderUninitialised) {
  Chain chain;
  const int block = chain.seen.placement[chain.buffer(chain.a)].block;
  std::erase_if(chain.seen.accesses[0].touches, [&](const Touch& touch) { return touch.block == block; });
  EXPECT_THAT(chain.found(), ElementsAre("uninitialised ->act a"));
}

TEST(Observed, AnUnrepeatableOrUnseenStepMakesTheResultIncomplete) {
  Chain chain;
  chain.seen.accesses[1].repeated_bitwise = false;
  EXPECT_EQ(chain.result().incomplete_reason, "act gave other bits when it was repeated");
  chain.seen.accesses.erase(chain.seen.accesses.begin() + 1);
  EXPECT_EQ(chain.result().incomplete_reason, "act was not observed");
  EXPECT_FALSE(analyse_order(chain.toy.program, chain.run, nullptr).complete);
}

TEST(Observed, TouchesFollowTheBufferWhenTheObservedRunPlacedItElsewhere) {
  Chain chain;
  touch(chain.seen, chain.act, chain.buffer(chain.x), What::changed, 40, 44);
  for (StepAccesses& accesses : chain.seen.accesses) {
    for (Touch& touch : accesses.touches) touch.block = 3 - touch.block;
  }
  for (Placement& place : chain.seen.placement) place.block = 3 - place.block;
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_write act>residual x"));
}

TEST(Observed, RootCausesComeFirst) {
  Chain chain;
  touch(chain.seen, chain.residual, chain.buffer(chain.a), What::read, 0, 4096);
  touch(chain.seen, chain.act, chain.buffer(chain.x), What::changed, 40, 44);
  EXPECT_THAT(chain.found(), ElementsAre("undeclared_write act>residual x", "undeclared_read gemm>residual a"));
}

}  // namespace
}  // namespace moediff::test
