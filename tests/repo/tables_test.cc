// Principle 4: everything that can be listed is a table, and a row that lacks one of its readers fails here.
#include <gtest/gtest.h>

#include <set>

#include "harness/model/ops.h"
#include "harness/model/rounding.h"
#include "harness/program/fault_table.h"
#include "harness/scenario/scenario.h"
#include "kernels/abi/moediff_abi.h"
#include "tests/repo/files.h"

namespace moediff::repo {
namespace {

TEST(Tables, OpsStandInTheOrderOfTheAbi) {
  ASSERT_EQ(kOpKinds, MD_OP_COUNT);
  for (int i = 0; i < kOpKinds; ++i) EXPECT_EQ(static_cast<int>(kOps[static_cast<std::size_t>(i)].kind), i);
  EXPECT_EQ(slot_index(OpKind::gemm1, "w13"), MD_GEMM1_W13);
  EXPECT_EQ(slot_index(OpKind::gemm1, "workspace"), MD_GEMM1_WORKSPACE);
  EXPECT_EQ(slot_index(OpKind::router, "topk_weights"), MD_ROUTER_WEIGHTS);
  EXPECT_EQ(slot_index(OpKind::combine, "topk_weights"), MD_COMBINE_WEIGHTS);
  EXPECT_EQ(slot_index(OpKind::shared_gemm1, "workspace"), MD_SHARED_GEMM1_WORKSPACE);
  EXPECT_EQ(slot_index(OpKind::scale_add, "moe_out"), MD_SCALE_ADD_OUT);
}

TEST(Tables, EveryOutputOfEveryOpHasItsRounding) {
  for (const OpRow& op : kOps) {
    for (const Slot& slot : slots(op.kind)) {
      if (slot.use != SlotUse::write) continue;
      const bool found = std::any_of(kRoundings.begin(), kRoundings.end(),
                                     [&](const RoundingRow& r) { return r.op == op.kind && r.output == slot.name; });
      EXPECT_TRUE(found) << op.name << "." << slot.name;
    }
  }
}

TEST(Tables, EveryFaultHasAScenarioWithACleanControl) {
  const std::vector<std::string> paths{"scenarios/faults"};
  const std::vector<Case> cases = load_cases(paths);
  std::set<std::string> caught, scenarios_with_fault, scenarios_with_control;
  for (const Case& spec : cases) {
    if (spec.fault.empty()) {
      scenarios_with_control.insert(spec.scenario);
      EXPECT_EQ(spec.expect.status, Status::pass) << spec.id;
      continue;
    }
    caught.insert(spec.fault);
    scenarios_with_fault.insert(spec.scenario);
    if (spec.expect.status == Status::pass) continue;
    EXPECT_TRUE(spec.expect.cause) << spec.id << " does not say which cause";
    EXPECT_FALSE(spec.expect.blame_op.empty()) << spec.id << " does not say whom to blame";
  }
  for (const FaultRow& row : faults())
    EXPECT_TRUE(caught.count(std::string(row.name))) << row.name << " has no scenario";
  for (const std::string& scenario : scenarios_with_fault)
    EXPECT_TRUE(scenarios_with_control.count(scenario)) << scenario << " has no clean control";
}

}  // namespace
}  // namespace moediff::repo
