#include "harness/cli/progress_line.h"

#include <fmt/format.h>

#include <cstdio>

#include "reports/console.h"

namespace moediff {
namespace {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::string plan_line(const Plan& plan) {
  return fmt::format("plan: {} cases to run in {} groups; {} skipped with a reason, {} collapsed into an equal one\n",
                     plan.runnable, plan.groups.size(), plan.skipped, plan.collapsed);
}

ProgressLine::ProgressLine(const Command& command, const Plan& plan)
    : start_(std::chrono::steady_clock::now()),
      colour_(use_colour(stdout)),
      progress_(stderr, *parse_progress_mode(command.progress), static_cast<std::int64_t>(plan.runnable)) {
  print(plan_line(plan));
}

void ProgressLine::show(const CaseRecord& record) {
  progress_.clear();
  print(render_case_line(record, colour_));
  progress_.advance(record.verdict.status == Status::fail && record.as_expected, !record.as_expected);
}

double ProgressLine::finish() {
  progress_.clear();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace moediff
