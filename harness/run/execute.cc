#include "harness/run/execute.h"

#include <fmt/format.h>

#include "harness/core/error.h"
#include "harness/run/failure.h"
#include "harness/run/observe.h"
#include "harness/run/session.h"

namespace moediff {
namespace {

void select_variants(const md_provider& provider, const std::string& variants) {
  if (provider.select_variants == nullptr) {
    if (variants.empty()) return;
    throw RunFailure(RunStatus::provider_error, fmt::format("provider '{}' has no variants", provider.name));
  }
  if (provider.select_variants(variants.c_str()) == 0) return;
  const char* text = provider.last_error();
  throw RunFailure(RunStatus::provider_error, fmt::format("provider '{}' has no variants '{}': {}", provider.name,
                                                          variants, text == nullptr ? "no text" : text));
}

const md_provider& load(Modules& modules, const ProviderSpec& spec) {
  try {
    return modules.provider(spec.name);
  } catch (const CannotRun& error) {
    throw RunFailure(RunStatus::provider_error, error.what());
  }
}

Run run_schedule(RunSession& session) {
  for (std::size_t i = 0; i < session.program().steps.size(); ++i) {
    session.page().phase = WorkerPhase::issuing;
    session.issue_step(static_cast<int>(i));
  }
  session.page().phase = WorkerPhase::executing;
  session.synchronize();
  session.page().phase = WorkerPhase::collecting;
  Run run;
  session.collect(run);
  return run;
}

/// Red zones are checked when the device is idle, so a schedule tells which are damaged but not by whom. Once more,
/// step by step; where that shows no damage, the step stays unknown.
void blame_red_zones(RunRequest request, const Inputs& inputs, Modules& modules, StatusPage& page, Run& run) {
  request.schedule = {};
  RunSession session(modules, load(modules, request.provider), request, inputs, page);
  for (std::size_t i = 0; i < session.program().steps.size(); ++i) {
    session.issue_step(static_cast<int>(i));
    session.synchronize(static_cast<int>(i));
    session.check_red_zones(static_cast<int>(i));
  }
  if (!session.red_zone_hits().empty()) run.red_zone_hits = session.red_zone_hits();
}

Run execute_or_throw(const RunRequest& request, const Inputs& inputs, const std::vector<ProbeCrash>& crashes,
                     Modules& modules, StatusPage& page) {
  const md_provider& provider = load(modules, request.provider);
  select_variants(provider, request.provider.variants);
  if (request.observe && modules.host() == nullptr) {
    throw RunFailure(RunStatus::error, fmt::format("backend '{}' cannot observe accesses: only the host backend can",
                                                   modules.backend().name));
  }
  modules.watch(request.provider.name);
  page.phase = WorkerPhase::preparing;
  Run run;
  {
    RunSession session(modules, provider, request, inputs, page);
    run = request.observe ? observe(session, crashes) : run_schedule(session);
  }
  if (!request.observe && !run.red_zone_hits.empty()) blame_red_zones(request, inputs, modules, page, run);
  return run;
}

}  // namespace

Run execute(const RunRequest& request, const Inputs& inputs, const std::vector<ProbeCrash>& crashes, Modules& modules,
            StatusPage& page) {
  try {
    return execute_or_throw(request, inputs, crashes, modules, page);
  } catch (const RunFailure& failure) {
    return failed_run(failure.status(), failure.what(), failure.step());
  } catch (const std::exception& error) {
    return failed_run(RunStatus::error, error.what(), page.step());
  }
}

}  // namespace moediff
