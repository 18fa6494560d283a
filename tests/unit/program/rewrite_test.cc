#include "harness/program/rewrite.h"

#include <gtest/gtest.h>

#include "harness/program/build.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

TEST(Rewrite, RestoreBeforePutsTheValueBackOnlyForTheReader) {
  Case spec = layer_case();
  spec.in_place = true;
  const Program p = build_moe_layer(spec);
  const int reader = find_step(p, "shared_gemm1");
  const Program q = restore_before(p, p.steps[static_cast<std::size_t>(reader)].operands[0].values[0], reader);
  validate(q);
  const int at = find_step(q, "shared_gemm1");
  EXPECT_EQ(q.steps[static_cast<std::size_t>(at - 2)].name, "save before shared_gemm1");
  EXPECT_EQ(q.steps[static_cast<std::size_t>(at - 1)].name, "restore before shared_gemm1");
  EXPECT_EQ(q.steps[static_cast<std::size_t>(at + 1)].name, "put back after shared_gemm1");
  EXPECT_EQ(q.steps.size(), p.steps.size() + 3);
}

TEST(Rewrite, RestoreBeforeKeepsAProducedValueFromItsBirth) {
  Case spec = layer_case();
  spec.in_place = true;
  spec.chunk = 2;
  const Program p = build_moe_layer(spec);
  const int reader = find_step(p, "shared_gemm1[1]");
  const Program q = restore_before(p, p.steps[static_cast<std::size_t>(reader)].operands[0].values[0], reader);
  validate(q);
  EXPECT_EQ(find_step(q, "keep stage_hidden[1]"), find_step(q, "stage_hidden[1]") + 1);
}

TEST(Rewrite, WithEdgeRecordsAfterOneStepAndWaitsBeforeTheOther) {
  const Program p = build_moe_layer(with_stream(layer_case(), StreamMode::aux));
  const int from = find_step(p, "shared_gemm2"), to = find_step(p, "scale_add");
  const auto q = with_edge(p, from, to);
  ASSERT_TRUE(q);
  validate(*q);
  EXPECT_EQ(find_step(*q, "added.record"), from + 1);
  EXPECT_EQ(find_step(*q, "added"), find_step(*q, "scale_add") - 1);
  EXPECT_FALSE(with_edge(p, to, from));
}

TEST(Rewrite, SynchronisedFollowsEveryCallAndCopyByASync) {
  const Program p = build_moe_layer(with_stream(layer_case(), StreamMode::aux));
  const Program q = synchronised(p);
  validate(q);
  std::size_t work = 0;
  for (const Step& step : p.steps) work += step.kind == StepKind::call || step.kind == StepKind::copy;
  EXPECT_EQ(q.steps.size(), p.steps.size() + work);
}

TEST(Rewrite, PrivateWorkspacesAreDisjoint) {
  Case spec = layer_case();
  spec.split_k = 2;
  spec.chunk = 2;
  const Program p = build_moe_layer(spec);
  EXPECT_EQ(buffer_of(p, find_step(p, "gemm1[0]"), "workspace"), buffer_of(p, find_step(p, "gemm1[1]"), "workspace"));
  const Program q = with_private_workspaces(p);
  validate(q);
  EXPECT_NE(buffer_of(q, find_step(q, "gemm1[0]"), "workspace"), buffer_of(q, find_step(q, "gemm1[1]"), "workspace"));
}

TEST(Rewrite, WithOutputsGivenReplacesACallByCopiesOfWhatIsGiven) {
  const Program p = build_moe_layer(with_stream(layer_case(), StreamMode::fused));
  const int router = find_step(p, "router");
  const auto q = with_outputs_given(p, router, {{3, "a"}, {4, "b"}, {5, "c"}});
  ASSERT_TRUE(q);
  validate(*q);
  EXPECT_TRUE(find_calls(*q, OpKind::router).empty());
  EXPECT_EQ(q->steps.size(), p.steps.size() + 2);
  const Step& copy = q->steps[static_cast<std::size_t>(find_step(*q, "expected topk_ids for router"))];
  EXPECT_EQ(q->values[static_cast<std::size_t>(copy.operands[0].values[0])].initial, "b");
  EXPECT_EQ(copy.operands[1].region, p.steps[static_cast<std::size_t>(router)].operands[4].region);
  EXPECT_FALSE(with_outputs_given(p, router, {{3, "a"}})) << "an output is not given";
}

}  // namespace
}  // namespace moediff
