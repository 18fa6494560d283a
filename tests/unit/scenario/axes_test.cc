// Lists multiply, ranges count, locksteps advance together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

std::vector<std::int64_t> tokens(const std::vector<Case>& cases) {
  std::vector<std::int64_t> all;
  for (const Case& spec : cases) all.push_back(spec.tokens);
  return all;
}

TEST(Axes, MultiplyWithTheFirstOneSlowest) {
  const std::vector<Case> cases = load_text("axes:\n  dtype: [f32, bf16]\n  tokens: [1, 5, 6]\n");
  EXPECT_THAT(ids(cases), ElementsAre("f32-t1", "f32-t5", "f32-t6", "bf16-t1", "bf16-t5", "bf16-t6"));
  EXPECT_EQ(cases[4].dtype, DType::bf16);
  EXPECT_EQ(cases[4].tokens, 5);
}

TEST(Axes, TakeRangesInBothForms) {
  EXPECT_THAT(tokens(load_text("axes: {tokens: {from: 1, to: 9, step: 3}}")), ElementsAre(1, 4, 7));
  EXPECT_THAT(tokens(load_text("axes: {tokens: {from: 1, to: 7, step: 3}}")), ElementsAre(1, 4, 7));
  EXPECT_THAT(tokens(load_text("axes: {tokens: 3..5}")), ElementsAre(3, 4, 5));
  EXPECT_THAT(tokens(load_text("axes: {tokens: [1, \"255..257\", {from: 300, to: 310, step: 10}]}")),
              ElementsAre(1, 255, 256, 257, 300, 310));
}

TEST(Axes, MayBeNamedByTheirPath) {
  const std::vector<Case> cases = load_text("tokens: 5\naxes: {input.distribution: [normal, integers]}");
  EXPECT_THAT(ids(cases), ElementsAre("normal", "integers"));
  EXPECT_EQ(cases[1].input.distribution, Distribution::integers);
}

TEST(Axes, OfOneValueMayBeWrittenWithoutAList) {
  const std::vector<Case> cases = load_text("axes: {tokens: 5}");
  EXPECT_THAT(tokens(cases), ElementsAre(5));
  EXPECT_EQ(cases.front().id, "x");
}

TEST(Axes, AreRecordedWithWhatFollowsFromThem) {
  const std::vector<Case> cases = load_text("axes: {tokens: [5], stream: [none, aux]}");
  EXPECT_THAT(cases[1].axes, ElementsAre(Pair("tokens", "5"), Pair("stream", "aux"), Pair("effective_stream", "aux"),
                                         Pair("n_shared", "1")));
}

TEST(Axes, AnchorsAndMergesStandForWhatTheyName) {
  const std::vector<Case> cases = load_text(
      "tokens: 5\n"
      "axes: {chunk: &sizes [0, 4], split_k: [1, 2]}\n"
      "lockstep: {seed: *sizes, timeout: [1, 2]}\n"
      "expect:\n"
      "  - &rule {when: {chunk: 0}, status: fail}\n"
      "  - {<<: *rule, when: {chunk: 4}}\n");
  ASSERT_THAT(cases, SizeIs(8));
  EXPECT_EQ(cases[1].seed, 4u);
  for (const Case& spec : cases) EXPECT_EQ(spec.expect.status, Status::fail);
}

TEST(Lockstep, AdvancesItsKeysTogether) {
  const std::vector<Case> cases =
      load_text("lockstep: {tokens: [5, 6, 255], chunk: [0, 4, 100]}\naxes: {dtype: [f32, bf16]}");
  EXPECT_THAT(ids(cases), ElementsAre("t5-f32", "t5-bf16", "t6-f32", "t6-bf16", "t255-f32", "t255-bf16"));
  EXPECT_EQ(cases[2].chunk, 4);
  EXPECT_EQ(cases[5].chunk, 100);
}

TEST(Lockstep, SeveralOfThemMultiply) {
  const std::vector<Case> cases =
      load_text("lockstep:\n  - {tokens: [5, 6], chunk: [0, 4]}\n  - {seed: [1, 2], split_k: [1, 2]}\n");
  EXPECT_THAT(ids(cases), ElementsAre("t5-seed1", "t5-seed2", "t6-seed1", "t6-seed2"));
}

TEST(Defaults, HoldWhereTheFileGivesNothing) {
  const Case spec = load_text("tokens: 5").front();
  EXPECT_EQ(spec.seed, 0u);
  EXPECT_EQ(spec.dtype, DType::bf16);
  EXPECT_EQ(spec.stream, StreamMode::none);
  EXPECT_EQ(spec.order, IssueOrder::routed_first);
  EXPECT_EQ(spec.aux_threshold, 256);
  EXPECT_EQ(spec.split_k, 1);
  EXPECT_EQ(spec.schedule, Schedule{});
  EXPECT_EQ(spec.fault, "");
  EXPECT_EQ(spec.provider, "builtin");
  EXPECT_EQ(spec.timeout_seconds, 60);
  EXPECT_EQ(spec.input.kind, InputSource::Kind::generated);
  EXPECT_EQ(spec.shape.routed_scaling_factor, 1.0);
  EXPECT_TRUE(spec.shape.norm_topk_prob);
  EXPECT_EQ(spec.expect, Expectation{});
}

TEST(Values, ReachTheFieldsOfTheCase) {
  const Case spec =
      load_text(
          "tokens: 7\nseed: 11\ndtype: f32\nstream: aux\naux_threshold: 9\norder: shared_first\nin_place: true\n"
          "chunk: 3\nsplit_k: 4\nresidual: true\nschedule: random:12\nprovider: mine\nfault: drop_wait\ndrop_wait: "
          "fork\ntimeout: 2.5\n"
          "input: {distribution: integers, bias_scale: 0.25}\n")
          .front();
  EXPECT_EQ(spec.shape, (MoeShape{64, 32, 8, 2, 4, 2, 1, true, 1.0}));
  EXPECT_EQ(spec.tokens, 7);
  EXPECT_EQ(spec.seed, 11u);
  EXPECT_EQ(spec.dtype, DType::f32);
  EXPECT_EQ(spec.stream, StreamMode::aux);
  EXPECT_EQ(spec.aux_threshold, 9);
  EXPECT_EQ(spec.order, IssueOrder::shared_first);
  EXPECT_TRUE(spec.in_place);
  EXPECT_EQ(spec.chunk, 3);
  EXPECT_EQ(spec.split_k, 4);
  EXPECT_TRUE(spec.residual);
  EXPECT_EQ(spec.schedule, (Schedule{SchedulePolicy::random, 12, {}, true}));
  EXPECT_EQ(spec.provider, "mine");
  EXPECT_EQ(spec.fault, "drop_wait");
  EXPECT_EQ(spec.drop_wait, "fork");
  EXPECT_EQ(spec.timeout_seconds, 2.5);
  EXPECT_EQ(spec.input.distribution, Distribution::integers);
  EXPECT_EQ(spec.input.bias_scale, 0.25);
  EXPECT_EQ(spec.title, "Test");
}

TEST(Values, TheSeedOfTheCommandLineReplacesAllSeeds) {
  const Files files;
  files.write("x.yaml", "scenario: Test\n" + std::string(kModel) + "tokens: 5\naxes: {seed: [1, 2]}\n");
  for (const Case& spec : files.load("x.yaml", {.seed_override = 42, .known_faults = {}})) EXPECT_EQ(spec.seed, 42u);
}

}  // namespace
}  // namespace moediff::testing
