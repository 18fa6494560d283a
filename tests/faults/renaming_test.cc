// Principle 2: the judge knows nothing of faults and names. Renaming everything at random changes no cause.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "harness/compare/compare.h"
#include "harness/judge/judge.h"
#include "harness/order/order.h"
#include "harness/program/fault_table.h"
#include "harness/program/plan.h"
#include "harness/run/executor.h"
#include "harness/scenario/scenario.h"

namespace moediff {
namespace {

class Renamer {
 public:
  explicit Renamer(unsigned seed) : random_(seed) {}

  Program operator()(Program program) {
    for (std::string& name : program.streams) name = word();
    for (Buffer& buffer : program.buffers) buffer.name = word();
    for (Value& value : program.values) value.name = word();
    for (Step& step : program.steps) step.name = word();
    std::shuffle(program.streams.begin(), program.streams.end(), random_);  // names only: steps refer to indices
    return program;
  }

 private:
  // Words that mislead on purpose: names of other steps and causes, numbered so that they stay unique.
  std::string word() {
    constexpr std::array kWords{"combine",      "shared_gemm1", "hidden_states", "workspace",
                                "clone_hidden", "fork",         "alias1",        "z"};
    return kWords[random_() % kWords.size()] + std::to_string(random_());
  }
  std::mt19937 random_;
};

Verdict verdict_on(const PlannedCase& planned, const Program& program, const std::shared_ptr<const Inputs>& inputs,
                   Executor& executor) {
  RunRequest request;
  request.program = &program;
  request.inputs = inputs;
  request.provider = {planned.provider, planned.variants};
  request.schedule = planned.schedule;
  Run run = executor.run(request);
  request.observe = true;
  request.schedule = Schedule{};
  const Run observed = executor.run(request);
  EXPECT_EQ(run.status, RunStatus::ok) << run.detail;
  EXPECT_EQ(observed.status, RunStatus::ok) << observed.detail;
  run.observed = observed.observed;
  run.accesses = observed.accesses;
  Expected expected(inputs);
  const Diff diff = compare(program, run, expected);
  return judge(program, run, analyse_order(program, run, &observed), &diff);
}

TEST(Renaming, ChangesNoCauseOfAnyFaultScenario) {
  ExecutorOptions options;
  options.module_dir = MOEDIFF_BUILD_DIR;
  options.worker_command = MOEDIFF_BUILD_DIR "/moediff";
  const auto executor = make_executor(options);
  const std::vector<std::string> paths{"scenarios/faults"};
  Renamer rename(20251119);
  int compared = 0, failed = 0;
  for (const PlannedCase& planned : make_plan(load_cases(paths)).cases) {
    if (planned.spec.skip_reason || planned.schedule.policy != SchedulePolicy::submission) continue;
    const std::string& cause = planned.variants;
    if (cause.find("crash") != std::string::npos || cause.find("hang") != std::string::npos ||
        cause.find("bounds") != std::string::npos || cause.find("divergence") != std::string::npos) {
      continue;  // runs that do not end have no Program-level cause to rename
    }
    const auto inputs = std::make_shared<const Inputs>(make_inputs(planned.spec).tensors);
    const Verdict plain = verdict_on(planned, planned.program, inputs, *executor);
    const Program renamed_program = rename(planned.program);
    const Verdict renamed = verdict_on(planned, renamed_program, inputs, *executor);
    EXPECT_EQ(plain.status, renamed.status) << planned.spec.id;
    EXPECT_EQ(plain.cause, renamed.cause) << planned.spec.id;
    EXPECT_EQ(plain.blame.step, renamed.blame.step) << planned.spec.id;
    ++compared;
    failed += plain.status == Status::fail;
  }
  EXPECT_GE(compared, 15);
  EXPECT_GE(failed, 8);
}

}  // namespace
}  // namespace moediff
