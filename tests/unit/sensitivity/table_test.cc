// The table of defects as a table: what every row must have.
#include <gtest/gtest.h>

#include <set>

#include "harness/program/build.h"
#include "harness/program/rewrite.h"
#include "harness/sensitivity/defect.h"

namespace moediff {
namespace {

TEST(Defects, AreAtLeastFortyWithAThirdOfThemAtK2048OrMore) {
  std::size_t large = 0;
  for (const Defect& defect : defects()) large += healthy_case(defect).shape.hidden >= 2048 ? 1 : 0;
  EXPECT_GE(defects().size(), 40u);
  EXPECT_GE(3 * large, defects().size());
}

TEST(Defects, EachDiffersInExactlyOneWay) {
  std::set<std::string_view> names;
  for (const Defect& defect : defects()) {
    const int ways = (defect.alter_case != nullptr) + (defect.alter_program != nullptr) +
                     (defect.alter_inputs != nullptr) + (defect.edit != nullptr);
    EXPECT_EQ(ways, 1) << defect.name;
    EXPECT_EQ(defect.edit != nullptr, !defect.edited.empty()) << defect.name;
    EXPECT_TRUE(names.insert(defect.name).second) << defect.name;
  }
}

TEST(Defects, NameAStageOfTheirProgram) {
  for (const Defect& defect : defects())
    EXPECT_GE(find_step(build_moe_layer(healthy_case(defect)), defect.stage), 0) << defect.name;
}

TEST(Defects, OfOtherInputsChangeThem) {
  for (const Defect& defect : defects()) {
    if (defect.alter_inputs == nullptr) continue;
    const Case spec = healthy_case(defect);
    const Inputs before = make_inputs(spec).tensors;
    Inputs after = before;
    defect.alter_inputs(spec, after);
    EXPECT_NE(hash(before), hash(after)) << defect.name;
  }
}

TEST(Defects, OfOtherProgramsChangeThem) {
  for (const Defect& defect : defects()) {
    const Case spec = healthy_case(defect);
    const Program before = build_moe_layer(spec);
    Program after = before;
    if (defect.alter_program != nullptr) defect.alter_program(after);
    Case other = spec;
    if (defect.alter_case != nullptr) {
      defect.alter_case(other);
      after = build_moe_layer(other);
    }
    const bool rewritten = defect.alter_program != nullptr || defect.alter_case != nullptr;
    EXPECT_EQ(hash(before) != hash(after), rewritten) << defect.name;
    ASSERT_EQ(before.steps.size(), after.steps.size()) << defect.name;
    for (std::size_t i = 0; i < before.steps.size(); ++i) EXPECT_EQ(before.steps[i].name, after.steps[i].name);
  }
}

}  // namespace
}  // namespace moediff
