// Each fault is planted where it applies, refuses where it does not, and is visible to the static check exactly when it
// is declared and bites whatever the kernels do.
#include <gtest/gtest.h>

#include "harness/program/build.h"
#include "harness/program/fault_table.h"
#include "harness/program/rewrite.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

std::optional<std::string> plant(Program& program, const char* fault, const char* argument = "") {
  return find_fault(fault)->rewrite(program, argument);
}

TEST(Faults, AliasesOfAQuantisedLayerLieOverItsInputNotOverItsCodes) {
  for (const QuantScheme scheme : {QuantScheme::fp8_block, QuantScheme::int8_channel, QuantScheme::int4_group}) {
    Case spec = layer_case();
    spec.quant.scheme = scheme;
    spec.quant.group = 8;
    spec.residual = true;
    for (const char* name : {"alias1", "alias2"}) {
      Program program = build_moe_layer(spec);
      ASSERT_EQ(find_fault(name)->rewrite(program, ""), std::nullopt) << name;
      validate(program);
      const int out = buffer_of(program, find_step(program, "combine"), "routed_out");
      EXPECT_EQ(program.buffers[static_cast<std::size_t>(out)].name, "hidden_states") << name;
    }
    spec.in_place = true;
    Program program = build_moe_layer(spec);
    EXPECT_EQ(find_fault("alias2")->rewrite(program, ""), "the layer is in place already");
  }
}

TEST(Faults, NamesAreUniqueAndEveryRowIsPlantedOneWay) {
  for (const FaultRow& row : faults()) {
    EXPECT_EQ(find_fault(row.name), &row);
    EXPECT_TRUE(row.planted == "undeclared" || row.rewrite != nullptr) << row.name;
    EXPECT_EQ(row.variants.empty(), row.planted == "declared") << row.name;
    EXPECT_FALSE(row.summary.empty() || row.report.empty() || row.needs.empty()) << row.name;
  }
  EXPECT_EQ(find_fault("no such fault"), nullptr);
}

TEST(Faults, Alias1MakesCombineWriteOverTheSharedExpertsInput) {
  Program p = build_moe_layer(layer_case());
  ASSERT_EQ(plant(p, "alias1"), std::nullopt);
  validate(p);
  EXPECT_EQ(buffer_of(p, find_step(p, "combine"), "routed_out"),
            buffer_of(p, find_step(p, "shared_gemm1"), "hidden_states"));
  EXPECT_EQ(find_step(p, "alloc routed_out"), -1);
}

TEST(Faults, Alias1ChunkedHitsTheStagingBufferOfEveryChunk) {
  Case spec = layer_case();
  spec.chunk = 2;
  Program p = build_moe_layer(spec);
  ASSERT_EQ(plant(p, "alias1"), std::nullopt);
  validate(p);
  for (const char* chunk : {"[0]", "[1]", "[2]"}) {
    EXPECT_EQ(buffer_of(p, find_step(p, std::string("combine") + chunk), "routed_out"),
              buffer_of(p, find_step(p, "shared_gemm1[0]"), "hidden_states"));
  }
}

TEST(Faults, Alias1RefusesWhereNobodyCouldBeHurt) {
  Case first = layer_case();
  first.order = IssueOrder::shared_first;
  Program shared_first = build_moe_layer(first), aux = build_moe_layer(with_stream(layer_case(), StreamMode::aux)),
          fused = build_moe_layer(with_stream(layer_case(), StreamMode::fused));
  EXPECT_TRUE(plant(shared_first, "alias1"));
  EXPECT_TRUE(plant(aux, "alias1"));
  EXPECT_TRUE(plant(fused, "alias1"));
}

TEST(Faults, UndeclaredOnesLeaveTheProgramAsItIs) {
  Case spec = with_stream(layer_case(), StreamMode::aux);
  spec.split_k = 2;
  for (const FaultRow& row : faults()) {
    if (row.planted != "undeclared" || row.rewrite == nullptr) continue;
    for (Program p : {build_moe_layer(layer_case()), build_moe_layer(spec)}) {
      const std::uint64_t before = hash(p);
      row.rewrite(p, "");
      EXPECT_EQ(hash(p), before) << row.name;
    }
  }
}

TEST(Faults, RefuseWhereTheyWouldShowNothing) {
  Case chunked = layer_case(), fused = with_stream(layer_case(), StreamMode::fused), alone = layer_case(),
       in_place = layer_case();
  chunked.chunk = 2;
  chunked.residual = fused.residual = true;
  fused.chunk = 4;
  alone.shape.n_shared = 0;
  in_place.in_place = true;
  Program a = build_moe_layer(chunked), b = build_moe_layer(fused), c = build_moe_layer(alone),
          d = build_moe_layer(in_place), e = build_moe_layer(with_stream(layer_case(), StreamMode::aux)),
          f = build_moe_layer(layer_case());
  EXPECT_TRUE(plant(a, "alias2"));
  EXPECT_TRUE(plant(b, "alias2"));
  EXPECT_TRUE(plant(c, "barrier_divergence"));
  EXPECT_TRUE(plant(d, "alias1_undeclared"));
  EXPECT_TRUE(plant(e, "stream1"));
  EXPECT_TRUE(plant(e, "workspace1_undeclared"));
  EXPECT_TRUE(plant(f, "workspace1"));
}

TEST(Faults, Stream1MovesTheCloneBehindTheFork) {
  Case spec = with_stream(layer_case(), StreamMode::aux);
  spec.in_place = true;
  Program p = build_moe_layer(spec);
  ASSERT_EQ(plant(p, "stream1"), std::nullopt);
  validate(p);
  EXPECT_EQ(find_step(p, "clone_hidden"), find_step(p, "fork") + 1);
  EXPECT_EQ(p.streams[static_cast<std::size_t>(p.steps[static_cast<std::size_t>(find_step(p, "clone_hidden"))].stream)],
            "aux");
}

TEST(Faults, Stream2AndDropWaitRemoveWaits) {
  Program p = build_moe_layer(with_stream(layer_case(), StreamMode::aux)), q = p;
  ASSERT_EQ(plant(p, "stream2"), std::nullopt);
  EXPECT_EQ(find_step(p, "fork"), -1);
  EXPECT_EQ(find_step(p, "join"), -1);
  ASSERT_EQ(plant(q, "drop_wait", "join"), std::nullopt);
  EXPECT_GE(find_step(q, "fork"), 0);
  EXPECT_TRUE(plant(q, "drop_wait", "jion"));
}

TEST(Faults, Workspace1LetsTwoGemmsShareOneBuffer) {
  Case spec = with_stream(layer_case(), StreamMode::aux);
  spec.split_k = 2;
  Program p = build_moe_layer(spec);
  ASSERT_EQ(plant(p, "workspace1"), std::nullopt);
  validate(p);
  EXPECT_EQ(buffer_of(p, find_step(p, "gemm1"), "workspace"), buffer_of(p, find_step(p, "shared_gemm1"), "workspace"));
  Program plain = build_moe_layer(with_stream(layer_case(), StreamMode::aux));
  EXPECT_TRUE(plant(plain, "workspace1"));
}

TEST(Faults, Lifetime1FreesTheCloneBeforeTheJoin) {
  Program p = build_moe_layer(with_stream(layer_case(), StreamMode::aux));
  ASSERT_EQ(plant(p, "lifetime1"), std::nullopt);
  validate(p);
  EXPECT_LT(find_step(p, "free hidden_clone"), find_step(p, "join"));
}

}  // namespace
}  // namespace moediff
