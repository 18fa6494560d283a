// The scenarios that come with moediff: they load, and they hold what the architecture promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "harness/scenario/scenario.h"

namespace moediff {
namespace {

using ::testing::UnorderedElementsAre;

std::vector<Case> load(const std::string& below) {
  const std::vector<std::string> paths{MOEDIFF_SOURCE_DIR "/scenarios/" + below};
  return load_cases(paths);
}

std::map<std::string, int> count_running(const std::string& below) {
  std::map<std::string, int> running;
  for (const Case& spec : load(below)) {
    if (!spec.skip_reason) ++running[std::filesystem::path(spec.scenario).stem().string()];
  }
  return running;
}

TEST(Shipped, TheMainJobHasTheCasesThatItsAxesSay) {
  // Five of the six pairs of stream and order run, in place or not, in two dtypes; without shared experts one pair.
  constexpr int kPlacements = 5 * 2 * 2, kBatches = 12;
  EXPECT_THAT(count_running("streams"),
              UnorderedElementsAre(std::pair("capitals", 2 * 3 * 2 * kPlacements),
                                   std::pair("deepseek_v3_like", kBatches * kPlacements),
                                   std::pair("llama4_like", kBatches * kPlacements),
                                   std::pair("qwen3_like", kBatches * 2 * 2), std::pair("schedules", 4 * 2 * 2 * 2)));
}

TEST(Shipped, SmokeHasTenCases) { EXPECT_THAT(count_running("smoke"), UnorderedElementsAre(std::pair("smoke", 10))); }

// Architecture §3, from the keys themselves.
bool has_founding_bug(const Case& spec) {
  const bool falls_back = spec.stream == StreamMode::aux && (spec.chunk > 0 || spec.tokens > 256);
  return spec.shape.n_shared > 0 && (spec.stream == StreamMode::none || falls_back) &&
         spec.order == IssueOrder::routed_first && spec.in_place;
}

TEST(Shipped, TheFoundingBugIsExpectedExactlyWhereItIs) {
  int present = 0;
  for (const char* folder : {"smoke", "streams"}) {
    for (const Case& spec : load(folder)) {
      const bool expected_to_fail = spec.expect.status == Status::fail;
      EXPECT_EQ(expected_to_fail, has_founding_bug(spec)) << spec.id;
      if (!expected_to_fail) continue;
      ++present;
      EXPECT_EQ(spec.expect, (Expectation{Status::fail, Cause::stale_read, "shared_gemm1",
                                          spec.chunk > 0 ? "staging_hidden" : "hidden_states", "", "combine"}));
    }
  }
  EXPECT_GT(present, 0);
}

// Faults that show under any schedule: found from what is ordered, not from what went wrong this time.
class EveryPolicy : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPolicy, FindsTheFaultAndPassesItsCleanControl) {
  std::set<std::string> planted, clean;
  for (const Case& spec : load("faults/" + GetParam() + ".yaml")) {
    EXPECT_FALSE(spec.skip_reason) << spec.id;
    EXPECT_EQ(spec.expect.status, spec.fault.empty() ? Status::pass : Status::fail) << spec.id;
    EXPECT_TRUE(spec.fault.empty() || spec.expect.cause) << spec.id;
    EXPECT_TRUE(spec.fault.empty() || spec.fault == GetParam()) << spec.id;
    (spec.fault.empty() ? clean : planted).insert(to_string(spec.schedule));
  }
  const std::set<std::string> policies{"submission", "reverse", "random:1", "threads"};
  EXPECT_EQ(planted, policies);
  EXPECT_EQ(clean, policies);
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryPolicy,
                         ::testing::Values("alias1", "alias1_undeclared", "alias2", "alias2_undeclared", "lifetime1",
                                           "stream1", "stream2", "workspace1", "workspace1_undeclared"),
                         [](const auto& row) { return row.param; });

TEST(Shipped, CapturesAndCheckpointsAreThere) {
  for (const Case& spec : load("streams/capitals.yaml")) {
    EXPECT_TRUE(std::filesystem::exists(spec.input.capture)) << spec.input.capture;
    EXPECT_TRUE(std::filesystem::exists(spec.input.checkpoint)) << spec.input.checkpoint;
  }
}

}  // namespace
}  // namespace moediff
