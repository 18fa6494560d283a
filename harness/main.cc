// moediff: this function is the table of contents.
#include <cstdio>
#include <filesystem>
#include <new>

#include "harness/cli/command.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/run_plan.h"
#include "harness/cli/verbs.h"
#include "harness/cli/worker_verb.h"
#include "harness/core/error.h"
#include "harness/scenario/scenario.h"

namespace moediff {
namespace {

// The verbs that work on scenarios are sections of one flow, each cut short at another point.
int follow_the_flow(const Command& command) {
  // Files to cases: typed, strict, all mistakes at once. From here on every case is complete and possible.
  const std::vector<std::string> fault_names = known_fault_names();
  const std::vector<Case> cases = load_cases(command.paths, {command.seed, fault_names});

  // Cases to Programs: what will be issued on which stream. Faults are planted, equal Programs are run once.
  const Plan plan = filter_plan(make_plan(cases), command.filter);
  if (command.verb == Verb::list) return list_plan(command, plan);

  // Captures and checkpoints are opened now, so that no case fails for a file in the middle of a run.
  check_inputs(plan);
  if (command.verb == Verb::check) return check_plan(plan);

  // Each group once by the reference, each case once by the candidate in its worker: compared, ordered, judged, and
  // where it fails run again with one intervention at a time.
  check_report_targets(command);
  Report report = begin_report(command);
  ProgressLine progress(command, plan);
  PlanResult result = run_plan(plan, run_settings(command), [&](const CaseRecord& record) { progress.show(record); });
  report.cases = std::move(result.cases);
  report.relations = std::move(result.relations);

  // One set of records, many renderings.
  summarize(report);
  report.summary.seconds = progress.finish();
  write_reports(command, report);
  return exit_status(report);
}

int run(const Command& command) {
  switch (command.verb) {
    case Verb::replay:
      return replay(command);
    case Verb::conformance:
      return check_conformance(command);
    case Verb::sensitivity:
      return show_sensitivity(command);
    case Verb::explain:
      return explain(command);
    case Verb::faults:
      return list_faults();
    case Verb::doctor:
      return doctor(command);
    case Verb::list:
    case Verb::check:
    case Verb::run:
      break;
  }
  return follow_the_flow(command);
}

}  // namespace
}  // namespace moediff

int main(int argc, char** argv) {
  using namespace moediff;
  if (is_worker(argc, argv)) return run_worker(argc, argv);  // the candidate's side, see harness/run
  try {
    const int status = run(parse_command_line(argc, argv));
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    std::fprintf(stderr, "moediff: the results could not be written to stdout\n");
    return 2;
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    std::fprintf(stderr, "moediff: %s\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "moediff: cannot run here: out of memory\n");
    return 125;
  } catch (const CannotRun& reason) {
    std::fprintf(stderr, "moediff: cannot run here: %s\n", reason.what());
    return 125;
  }
}
