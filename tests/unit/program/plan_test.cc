#include "harness/program/plan.h"

#include <gtest/gtest.h>

#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

Case named(Case spec, const std::string& id) {
  spec.id = id;
  return spec;
}

TEST(Plan, CasesWithEqualProgramsAreRunOnce) {
  Case big = layer_case();
  big.tokens = 257;
  const Plan plan = make_plan(
      {named(with_stream(big, StreamMode::none), "a/none"), named(with_stream(big, StreamMode::aux), "a/aux")});
  ASSERT_EQ(plan.cases.size(), 1u);
  EXPECT_EQ(plan.cases[0].collapsed, std::vector<std::string>{"a/aux"});
  EXPECT_EQ(plan.collapsed, 1u);
}

TEST(Plan, CasesThatExpectDifferentThingsAreNotCollapsed) {
  Case a = named(layer_case(), "a/1"), b = named(layer_case(), "a/2");
  b.expect.status = Status::fail;
  EXPECT_EQ(make_plan({a, b}).cases.size(), 2u);
}

TEST(Plan, SchedulesMeanNothingOnOneStream) {
  Case a = named(layer_case(), "a/1"), b = named(layer_case(), "a/2");
  b.schedule.policy = SchedulePolicy::reverse;
  EXPECT_EQ(make_plan({a, b}).cases.size(), 1u);
  EXPECT_EQ(make_plan({named(with_stream(a, StreamMode::aux), "a/1"), named(with_stream(b, StreamMode::aux), "a/2")})
                .cases.size(),
            2u);
}

TEST(Plan, AFaultThatDoesNotApplyIsSkippedWithTheReason) {
  Case spec = with_stream(layer_case(), StreamMode::aux);
  spec.fault = "alias1";
  const Plan plan = make_plan({spec});
  ASSERT_TRUE(plan.cases[0].spec.skip_reason);
  EXPECT_NE(plan.cases[0].spec.skip_reason->find("clone"), std::string::npos);
  EXPECT_EQ(plan.runnable, 0u);
}

TEST(Plan, CasesThatShareInputsShareAGroup) {
  Case a = named(layer_case(), "a/1"), b = named(layer_case(), "a/2"), c = named(layer_case(), "a/3");
  b.in_place = true;
  c.seed = 8;
  const Plan plan = make_plan({a, b, c});
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[0].cases, (std::vector<std::size_t>{0, 1}));
}

TEST(Plan, AFilterKeepsACaseWithWhatWasCollapsedIntoIt) {
  Case big = layer_case();
  big.tokens = 257;
  const Plan plan = make_plan({named(with_stream(big, StreamMode::none), "a/none"),
                               named(with_stream(big, StreamMode::aux), "a/aux"), named(layer_case(), "b/x")});
  const Plan kept = filter_plan(plan, "*aux*");
  ASSERT_EQ(kept.cases.size(), 1u);
  EXPECT_EQ(kept.cases[0].spec.id, "a/none");
  EXPECT_EQ(kept.cases[0].collapsed.size(), 1u);
  EXPECT_EQ(filter_plan(plan, "").cases.size(), 2u);
  EXPECT_EQ(filter_plan(plan, "nothing").groups.size(), 0u);
}

}  // namespace
}  // namespace moediff
