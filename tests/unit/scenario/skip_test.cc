// Combinations that mean nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

std::vector<std::string> running(const std::vector<Case>& cases) {
  std::vector<Case> left;
  for (const Case& spec : cases) {
    if (!spec.skip_reason) left.push_back(spec);
  }
  return ids(left);
}

TEST(Skip, AnOrderOfFusedExpertsRunsOnceAsTheFirstOneListed) {
  const std::vector<Case> cases =
      load_text("tokens: 5\naxes: {stream: [none, fused], order: [routed_first, shared_first]}");
  EXPECT_THAT(running(cases), ElementsAre("none-routed_first", "none-shared_first", "fused-routed_first"));
  EXPECT_THAT(cases[3].skip_reason,
              Optional(std::string(
                  "order has no effect when the shared experts are fused; x/fused-routed_first stands for both")));
}

std::vector<Case> load_without_shared(const std::string& axes) {
  const Files files;
  files.write("x.yaml", "scenario: Test\nmodel: {hidden: 64, inter: 32, experts: 8, top_k: 2}\ntokens: 5\naxes: {" +
                            axes + "}\n");
  return files.load("x.yaml");
}

TEST(Skip, StreamsOfSharedExpertsThatAreNotThereDoNotRun) {
  const std::vector<Case> cases = load_without_shared("stream: [none, aux, fused]");
  EXPECT_THAT(running(cases), ElementsAre("none"));
  EXPECT_THAT(cases[1].skip_reason, Optional(std::string("stream: aux places shared experts, and the model has none")));
  EXPECT_THAT(cases[2].skip_reason,
              Optional(std::string("stream: fused places shared experts, and the model has none")));
}

TEST(Skip, AnOrderWithoutSharedExpertsRunsOnceForEveryOtherValue) {
  const std::vector<Case> cases =
      load_without_shared("order: [shared_first, routed_first], in_place: [false, true], dtype: [f32, bf16]");
  EXPECT_THAT(running(cases), ElementsAre("shared_first-outofplace-f32", "shared_first-outofplace-bf16",
                                          "shared_first-inplace-f32", "shared_first-inplace-bf16"));
  EXPECT_THAT(cases[5].skip_reason,
              Optional(std::string(
                  "order has no effect without shared experts; x/shared_first-outofplace-bf16 stands for both")));
}

TEST(Skip, AnOrderInALockstepWithOtherKeysIsNotMistakenForARepetition) {
  const Files files;
  files.write("x.yaml",
              "scenario: Test\nmodel: {hidden: 64, inter: 32, experts: 8, top_k: 2}\nlockstep: {order: [shared_first, "
              "routed_first], tokens: [5, 6]}\n");
  EXPECT_THAT(running(files.load("x.yaml")), ElementsAre("shared_first", "routed_first"));
}

std::string reason(const std::string& text) {
  const std::vector<Case> cases = load_text("tokens: 5\n" + text);
  return cases.size() == 1 ? cases[0].skip_reason.value_or("runs") : "several cases";
}

TEST(Skip, FusedExpertsNeedTheNumberFormatOfTheRoutedOnes) {
  EXPECT_THAT(reason("stream: fused\nquant: {scheme: int4_group, shared: model}"), HasSubstr("vllm#28985"));
  EXPECT_EQ(reason("stream: fused\nquant: {scheme: int4_group, shared: same}"), "runs");
  EXPECT_EQ(reason("stream: none\nquant: {scheme: int4_group, shared: model}"), "runs");
  EXPECT_EQ(reason("stream: fused\nquant: {scheme: none, shared: model}"), "runs");
}

TEST(Skip, SizesThatAreNoMultipleOfTheBlockAreRefusedByThePolicyOnly) {
  EXPECT_THAT(reason("quant: {scheme: fp8_block, group: 24, ragged: reject}"),
              HasSubstr("no multiple of the block of 24"));
  EXPECT_EQ(reason("quant: {scheme: fp8_block, group: 24, ragged: pad}"), "runs");
  EXPECT_EQ(reason("quant: {scheme: fp8_block, group: 32, ragged: reject}"), "runs");
  EXPECT_EQ(reason("quant: {scheme: fp8_channel, group: 24, ragged: reject}"), "runs");
}

TEST(Skip, ABatchThatChangesTheScaleOfAWholeTensorHasNoVariation) {
  EXPECT_THAT(reason("variation: split\nquant: {scheme: fp8_tensor}"), HasSubstr("depends on the whole batch"));
  EXPECT_THAT(reason("variation: padded_zero\nquant: {scheme: fp8_tensor}"), HasSubstr("depends on the whole batch"));
  EXPECT_EQ(reason("variation: permuted\nquant: {scheme: fp8_tensor}"), "runs");
  EXPECT_EQ(reason("variation: split\nquant: {scheme: fp8_channel}"), "runs");
}

TEST(Skip, AnAuxiliaryStreamHasAnOrder) {
  EXPECT_THAT(running(load_text("tokens: 5\nstream: aux\naxes: {order: [shared_first, routed_first]}")),
              ElementsAre("shared_first", "routed_first"));
}

TEST(Skip, AChunkLargerThanTheBatchIsLegal) {
  EXPECT_THAT(running(load_text("tokens: 5\naxes: {chunk: [0, 100]}")), ElementsAre("c0", "c100"));
}

TEST(Skip, AWaitToDropIsForgottenWhereTheFaultIsNotPlanted) {
  const std::vector<Case> cases =
      load_text("tokens: 5\nstream: aux\ndrop_wait: fork\naxes: {fault: [none, drop_wait]}");
  EXPECT_EQ(cases[0].drop_wait, "");
  EXPECT_EQ(cases[1].drop_wait, "fork");
}

}  // namespace
}  // namespace moediff::testing
