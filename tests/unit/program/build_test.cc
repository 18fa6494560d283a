#include "harness/program/build.h"

#include <gtest/gtest.h>

#include "harness/program/rewrite.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

std::vector<std::string> names_on(const Program& program, const std::string& stream) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) {
    if (program.streams[static_cast<std::size_t>(step.stream)] == stream) names.push_back(step.name);
  }
  return names;
}

int step_at(const Program& program, const std::string& name) {
  const int step = find_step(program, name);
  EXPECT_GE(step, 0) << name;
  return step;
}

TEST(BuildMoeLayer, WithoutAnAuxiliaryStreamTheOrderIsTheOneAskedFor) {
  Case spec = layer_case();
  spec.order = IssueOrder::routed_first;
  const Program routed = build_moe_layer(spec);
  EXPECT_LT(step_at(routed, "combine"), step_at(routed, "shared_gemm1"));
  spec.order = IssueOrder::shared_first;
  const Program shared = build_moe_layer(spec);
  EXPECT_LT(step_at(shared, "shared_gemm2"), step_at(shared, "gemm1"));
  EXPECT_EQ(shared.streams.size(), 1u);
}

TEST(BuildMoeLayer, OnTheAuxiliaryStreamSharedExpertsReadACloneMadeBeforeTheFork) {
  const Program p = build_moe_layer(with_stream(layer_case(), StreamMode::aux));
  EXPECT_EQ(names_on(p, "aux"),
            (std::vector<std::string>{"fork", "shared_gemm1", "shared_activation", "shared_gemm2", "join.record"}));
  EXPECT_LT(step_at(p, "clone_hidden"), step_at(p, "fork.record"));
  EXPECT_LT(step_at(p, "join"), step_at(p, "scale_add"));
  const Operand& input = p.steps[static_cast<std::size_t>(step_at(p, "shared_gemm1"))].operands[0];
  EXPECT_EQ(p.values[static_cast<std::size_t>(input.values[0])].name, "hidden_clone");
}

TEST(BuildMoeLayer, InPlaceMeansThatRoutedOutLiesOverHiddenStates) {
  Case spec = layer_case();
  spec.in_place = true;
  const Program p = build_moe_layer(spec);
  EXPECT_EQ(buffer_of(p, step_at(p, "combine"), "routed_out"), buffer_of(p, step_at(p, "gemm1"), "hidden_states"));
  spec.in_place = false;
  const Program q = build_moe_layer(spec);
  EXPECT_NE(buffer_of(q, step_at(q, "combine"), "routed_out"), buffer_of(q, step_at(q, "gemm1"), "hidden_states"));
}

TEST(BuildMoeLayer, FusedSharedExpertsAreColumnsOfTheTopKBuffer) {
  Case spec = with_stream(layer_case(), StreamMode::fused);
  spec.shape.n_shared = 2;
  const Program p = build_moe_layer(spec);
  EXPECT_TRUE(find_calls(p, OpKind::shared_gemm1).empty());
  EXPECT_TRUE(find_calls(p, OpKind::scale_add).empty());
  const Operand& ids = p.steps[static_cast<std::size_t>(step_at(p, "dispatch"))].operands[0];
  EXPECT_EQ(ids.shape, (Shape{5, 4}));
  ASSERT_EQ(ids.values.size(), 2u);
  EXPECT_EQ(p.values[static_cast<std::size_t>(ids.values[1])].initial, "shared_ids");
  EXPECT_EQ(p.steps[static_cast<std::size_t>(step_at(p, "router"))].params.factor, 2.5);
}

TEST(BuildMoeLayer, ChunksGoThroughOneStagingBufferAndCoverEveryToken) {
  Case spec = layer_case();
  spec.chunk = 2;
  const Program p = build_moe_layer(spec);
  const std::vector<int> combines = find_calls(p, OpKind::combine);
  ASSERT_EQ(combines.size(), 3u);
  std::int64_t rows = 0;
  for (const int output : p.outputs) {
    EXPECT_EQ(p.values[static_cast<std::size_t>(output)].row_offset, rows);
    rows += p.values[static_cast<std::size_t>(output)].shape[0];
  }
  EXPECT_EQ(rows, 5);
  EXPECT_EQ(find_calls(p, OpKind::router).size(), 1u);
  EXPECT_EQ(buffer_of(p, step_at(p, "gemm1[0]"), "hidden_states"),
            buffer_of(p, step_at(p, "gemm1[2]"), "hidden_states"));
}

TEST(BuildMoeLayer, WithoutSharedExpertsThereIsOnlyTheRoutedPath) {
  Case spec = layer_case();
  spec.shape.n_shared = 0;
  const Program p = build_moe_layer(spec);
  EXPECT_TRUE(find_calls(p, OpKind::shared_gemm1).empty());
  const Step& last = p.steps[static_cast<std::size_t>(step_at(p, "scale_add"))];
  EXPECT_EQ(last.operands[1].buffer, -1);
}

TEST(BuildMoeLayer, EveryConfigurationIsAValidProgram) {
  int built = 0;
  for (const StreamMode mode : {StreamMode::none, StreamMode::aux, StreamMode::fused}) {
    for (const std::int64_t chunk : {0, 1, 2, 5, 9}) {
      for (const std::int64_t tokens : {1, 5, 256, 257}) {
        for (int bits = 0; bits < 16; ++bits) {
          Case spec = layer_case();
          spec.tokens = tokens;
          spec.chunk = chunk;
          spec.in_place = bits & 1;
          spec.order = bits & 2 ? IssueOrder::shared_first : IssueOrder::routed_first;
          spec.split_k = bits & 4 ? 3 : 1;
          spec.residual = bits & 8;
          if (chunk == 1 && tokens > 5) continue;
          validate(build_moe_layer(with_stream(spec, mode)));
          ++built;
        }
      }
    }
  }
  EXPECT_GT(built, 500);
}

TEST(BuildMoeLayer, TheHashFollowsWhatIsDoneNotHowItIsNamed) {
  Program p = build_moe_layer(layer_case());
  const std::uint64_t before = hash(p);
  for (Step& step : p.steps) step.name += "?";
  for (Value& value : p.values) value.name += "?";
  EXPECT_EQ(hash(p), before);
  std::swap(p.steps[0], p.steps[1]);
  EXPECT_NE(hash(p), before);
}

}  // namespace
}  // namespace moediff
