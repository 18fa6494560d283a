#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "harness/cli/progress_line.h"
#include "harness/cli/verbs.h"
#include "harness/order/order.h"
#include "harness/program/fault_table.h"
#include "harness/scenario/scenario.h"
#include "reports/console.h"

namespace moediff {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

int list_plan(const Command& command, const Plan& plan) {
  std::vector<Case> cases;
  for (const PlannedCase& planned : plan.cases) cases.push_back(planned.spec);
  if (!command.canonical) {
    print(render_plan(cases));
    print(plan_line(plan));
  } else {
    for (const Case& spec : cases) print("---\n# " + spec.id + "\n" + canonical_yaml(spec));
  }
  return plan.cases.empty() ? 3 : 0;
}

int check_plan(const Plan& plan) {
  int with_hazards = 0;
  for (const PlannedCase& planned : plan.cases) {
    if (planned.spec.skip_reason) continue;
    const OrderResult result = static_check(planned.program);
    if (result.hazards.empty()) continue;
    ++with_hazards;
    const Hazard& first = result.hazards.front();
    const auto name = [&](int step) {
      return step < 0 ? std::string("nobody") : planned.program.steps[static_cast<std::size_t>(step)].name;
    };
    const std::string value =
        first.value < 0 ? "memory" : planned.program.values[static_cast<std::size_t>(first.value)].name;
    print(fmt::format("{}: {}: {} meets what {} wrote in place of {}{}\n", planned.spec.id, to_string(first.kind),
                      name(first.reader), name(first.writer), value,
                      first.edge_missing.empty() ? "" : "; " + first.edge_missing));
  }
  print(plan_line(plan));
  print(
      fmt::format("check: scenarios are valid; {} of {} Programs have a reader that can meet a wrong version (found "
                  "without running anything)\n",
                  with_hazards, plan.runnable));
  return plan.runnable == 0 ? 3 : 0;
}

int list_faults() {
  for (const FaultRow& row : faults()) {
    print(fmt::format("{:<22} {:<12} {:<11} {}\n{:<22} needs {}; report: {}\n", row.name, row.id, row.planted,
                      row.summary, "", row.needs, row.report));
  }
  return 0;
}

}  // namespace moediff
