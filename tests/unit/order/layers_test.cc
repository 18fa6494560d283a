// The Programs that cases really run: right ones are clean on every schedule, planted faults are found from the Program
// alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program/build.h"
#include "harness/program/fault_table.h"
#include "tests/unit/order/toy.h"
#include "tests/unit/program/layer_case.h"

namespace moediff::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Case layer(StreamMode stream, IssueOrder order, bool in_place, std::int64_t chunk = 0, int split_k = 1) {
  Case spec = layer_case();
  spec.order = order;
  spec.in_place = in_place;
  spec.chunk = chunk;
  spec.split_k = split_k;
  return with_stream(spec, stream);
}

TEST(Layers, TheFoundingBugIsPresentExactlyInItsConfiguration) {
  for (const StreamMode stream : {StreamMode::none, StreamMode::aux, StreamMode::fused}) {
    for (const IssueOrder order : {IssueOrder::shared_first, IssueOrder::routed_first}) {
      for (const bool in_place : {false, true}) {
        for (const std::int64_t chunk : {0, 2}) {
          if (stream == StreamMode::fused && (order == IssueOrder::shared_first || chunk > 0)) continue;
          const Case spec = layer(stream, order, in_place, chunk);
          const Program program = build_moe_layer(spec);
          const bool founding =
              spec.effective_stream == StreamMode::none && order == IssueOrder::routed_first && in_place;
          const OrderResult result = static_check(program);
          EXPECT_EQ(!result.hazards.empty(), founding) << testing::PrintToString(summary(program, result));
          EXPECT_THAT(result.redundant_waits, IsEmpty());
          for (const Hazard& hazard : result.hazards) {
            EXPECT_EQ(hazard.kind, Cause::stale_read);
            EXPECT_EQ(program.steps[hazard.writer].op, OpKind::combine);
            EXPECT_EQ(program.steps[hazard.reader].op, OpKind::shared_gemm1);
          }
        }
      }
    }
  }
}

struct Planted {
  Program program;
  OrderResult result;
};

Planted plant(const Case& spec, const char* fault, const char* argument = "") {
  Planted planted{build_moe_layer(spec), {}};
  EXPECT_THAT(static_check(planted.program).hazards, IsEmpty()) << "the control of " << fault;
  EXPECT_FALSE(find_fault(fault)->rewrite(planted.program, argument).has_value()) << fault;
  validate(planted.program);
  planted.result = static_check(planted.program);
  return planted;
}

std::string first(const Planted& planted) {
  const std::vector<std::string> lines = summary(planted.program, planted.result);
  return lines.empty() ? "none" : lines.front();
}

TEST(Layers, DeclaredFaultsAreFoundWithoutRunningAnything) {
  const Case none = layer(StreamMode::none, IssueOrder::routed_first, false);
  const Case aux = layer(StreamMode::aux, IssueOrder::routed_first, false, 0, 2);
  const Case aux_in_place = layer(StreamMode::aux, IssueOrder::routed_first, true);
  Case residual = layer(StreamMode::none, IssueOrder::shared_first, false);
  residual.residual = true;
  EXPECT_EQ(first(plant(none, "alias1")), "stale_read combine>shared_gemm1 hidden_states");
  EXPECT_EQ(first(plant(residual, "alias2")), "stale_read combine>residual_add hidden_states");
  EXPECT_EQ(first(plant(aux_in_place, "stream1")), "unordered_access combine>clone_hidden hidden_states");
  EXPECT_THAT(first(plant(aux, "stream2")), HasSubstr("unordered_access clone_hidden>shared_gemm1"));
  EXPECT_EQ(first(plant(aux, "workspace1")), "shared_workspace gemm1>shared_gemm1");
  EXPECT_THAT(first(plant(aux, "lifetime1")), HasSubstr(">shared_gemm1 hidden_clone"));
  EXPECT_EQ(plant(aux, "lifetime1").result.hazards.front().kind, Cause::lifetime);
}

TEST(Layers, EachWaitIsMissedAndTheRedundantOneIsNamed) {
  const Case aux = layer(StreamMode::aux, IssueOrder::routed_first, true);
  const Planted fork = plant(aux, "drop_wait", "fork"), join = plant(aux, "drop_wait", "join");
  ASSERT_THAT(fork.result.hazards, testing::Not(IsEmpty()));
  ASSERT_THAT(join.result.hazards, testing::Not(IsEmpty()));
  EXPECT_EQ(fork.result.hazards[0].edge_missing, "aux must wait for main's clone_hidden before shared_gemm1");
  EXPECT_EQ(join.result.hazards[0].edge_missing, "main must wait for aux's shared_gemm2 before scale_add");
  const Planted again = plant(aux, "redundant_wait");
  EXPECT_THAT(again.result.hazards, IsEmpty());
  ASSERT_THAT(again.result.redundant_waits, testing::SizeIs(1));
  EXPECT_EQ(again.program.steps[again.result.redundant_waits[0]].name, "again");
}

}  // namespace
}  // namespace moediff::test
