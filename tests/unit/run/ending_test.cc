#include "harness/run/ending.h"

#include <gtest/gtest.h>

#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

TEST(Ending, AReportedIllegalAccessIsAnAccessOutOfBounds) {
  const Program program = toy::program();
  StatusPage page;
  page.fault.seen = 1;
  page.fault.step = 1;
  page.fault.is_write = 1;
  page.fault.distance = 128;
  write_text(page.fault.kernel, "tile");
  write_text(page.fault.block, "layer_out");
  const auto run = run_after_death(program, page, "signal 11 (SIGSEGV)");
  EXPECT_EQ(run.status, RunStatus::out_of_bounds);
  EXPECT_EQ(run.detail, "residual_add (kernel tile) wrote 128 bytes past layer_out");
  EXPECT_EQ(run.failing_step, 1);
}

TEST(Ending, TheSideAndTheKindOfAccessAreTold) {
  const Program program = toy::program();
  StatusPage page;
  page.fault.seen = 1;
  page.fault.step = 0;
  page.fault.distance = -1;
  write_text(page.fault.block, "moe_out");
  EXPECT_EQ(run_after_death(program, page, "").detail, "scale_add read 1 byte before moe_out");
  page.fault.distance = 0;
  page.fault.is_write = 1;
  EXPECT_EQ(run_after_death(program, page, "").detail, "scale_add wrote moe_out, which it may not");
  page.fault.distance = std::int64_t{1} << 40;
  EXPECT_EQ(run_after_death(program, page, "").detail, "scale_add wrote memory that belongs to no buffer");
}

TEST(Ending, AKernelWithoutAPointerIsACrashAndNoAccessOutOfBounds) {
  const Program program = toy::program();
  StatusPage page;
  page.fault.seen = 1;
  page.fault.step = 1;
  page.fault.distance = 16;
  write_text(page.fault.block, "null pointer");
  const auto run = run_after_death(program, page, "signal 11 (SIGSEGV)");
  EXPECT_EQ(run.status, RunStatus::crash);
  EXPECT_EQ(run.detail, "residual_add read through a null pointer, at address 16");
}

TEST(Ending, AFaultInHostCodeIsACrash) {
  const Program program = toy::program();
  StatusPage page;
  page.phase = WorkerPhase::issuing;
  page.issuing = 0;
  page.fault.seen = 1;
  write_text(page.fault.block, "null pointer");
  const auto run = run_after_death(program, page, "signal 11 (SIGSEGV)");
  EXPECT_EQ(run.status, RunStatus::crash);
  EXPECT_EQ(run.detail,
            "signal 11 (SIGSEGV) in issuing step scale_add: host code read through a null pointer, at address 0");
  EXPECT_EQ(run.failing_step, 0);
}

TEST(Ending, AnOverwrittenPageIsNotTrusted) {
  const Program program = toy::program();
  StatusPage page;
  page.running = 1000;
  page.issuing = -77;
  page.phase = static_cast<WorkerPhase>(99);
  page.kernel.fill('x');
  page.fault.kernel.fill('x');
  const auto run = run_after_death(program, page, "signal 9 (SIGKILL)");
  EXPECT_EQ(run.status, RunStatus::crash);
  EXPECT_EQ(run.failing_step, -1);
  EXPECT_EQ(read_text(page.kernel).size(), page.kernel.size() - 1);
}

TEST(Ending, OnlyAProbeIsAnInterruptedProbe) {
  const Program program = toy::program();
  StatusPage page;
  page.issuing = 1;
  page.probe_block = 4;
  page.phase = WorkerPhase::executing;
  EXPECT_FALSE(interrupted_probe(program, page, "").has_value());
  page.phase = WorkerPhase::probing;
  EXPECT_EQ(interrupted_probe(program, page, "note"), (ProbeCrash{1, 4, "note"}));
}

TEST(Status, ALongTextIsCut) {
  PageText text;
  write_text(text, std::string(1000, 'a'));
  EXPECT_EQ(read_text(text), std::string(text.size() - 1, 'a'));
}

}  // namespace
}  // namespace moediff
