#include "harness/cli/run_plan.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "harness/cli/doubt.h"
#include "harness/cli/expectation.h"
#include "harness/cli/make_record.h"
#include "harness/compare/compare.h"
#include "harness/compare/outputs.h"
#include "harness/core/hash.h"
#include "harness/diagnose/diagnose.h"
#include "harness/judge/judge.h"
#include "harness/order/order.h"
#include "harness/program/inputs.h"
#include "harness/relate/relation.h"

namespace moediff {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One group: its inputs, the reference's side, and the access sets already observed (they depend on the Program and the
// inputs, not on the schedule, so cases that differ in nothing else share them).
class GroupRun {
 public:
  GroupRun(const Plan& plan, const Group& group, const RunSettings& settings, Executor& executor)
      : plan_(plan), group_(group), settings_(settings), executor_(executor) {
    for (const std::size_t c : group.cases) prepare(plan.cases[c].spec);
  }

  CaseRecord run(const PlannedCase& planned) {
    const auto start = std::chrono::steady_clock::now();
    CaseRecord record = begin_record(planned, group_.name, settings_.repro);
    const Prepared& prepared = prepared_.at(planned.spec.variation);
    record.input_hash = prepared.hash;
    const RunRequest request = make_request(planned, prepared);
    Run run = executor_.run(request);
    const Run* observation = run.status == RunStatus::ok ? &observe(planned, request) : nullptr;
    const Run* observed =
        observation != nullptr && observation->status == RunStatus::ok && observation->observed ? observation : nullptr;
    const OrderResult order =
        run.status == RunStatus::ok ? analyse_order(planned.program, run, observed) : OrderResult{};
    std::optional<Diff> diff;
    if (run.status == RunStatus::ok) diff = compare(planned.program, run, *prepared.expected);
    if (observed != nullptr) {
      run.observed = observed->observed;
      run.accesses = observed->accesses;
    }
    Verdict verdict = judge(planned.program, run, order, diff ? &*diff : nullptr);
    diagnose(verdict, run, order, diff ? &*diff : nullptr, {&executor_, prepared.expected.get(), request});
    if (observation != nullptr) doubt_unwatched(verdict, *observation);
    complete_record(record, planned, run, order, diff ? &*diff : nullptr, std::move(verdict));
    if (diff) remember(planned, record.verdict.status, *diff, run, observation);
    record.seconds = seconds_since(start);
    return record;
  }

  std::vector<RelationRecord> relate_all() const { return relate(group_.name, outcomes_); }

 private:
  /// The group's inputs under one variation, and the reference's side of them.
  struct Prepared {
    std::shared_ptr<const Inputs> inputs;
    std::string hash;
    std::unique_ptr<Expected> expected;
  };

  void prepare(const Case& spec) {
    const auto [entry, is_new] = prepared_.try_emplace(spec.variation);
    if (!is_new) return;
    GroupInputs made = make_inputs(spec);
    if (made.captured_output) captured_ = to_doubles(*made.captured_output);
    Prepared& prepared = entry->second;
    prepared.inputs = std::make_shared<const Inputs>(std::move(made.tensors));
    prepared.hash = to_hex(hash(*prepared.inputs));
    prepared.expected = std::make_unique<Expected>(prepared.inputs);
  }

  RunRequest make_request(const PlannedCase& planned, const Prepared& prepared) const {
    RunRequest request;
    request.program = &planned.program;
    request.inputs = prepared.inputs;
    request.provider = {planned.provider, planned.variants};
    request.schedule = planned.schedule;
    request.timeout_seconds = settings_.timeout.value_or(planned.spec.timeout_seconds);
    return request;
  }

  const Run& observe(const PlannedCase& planned, const RunRequest& request) {
    const auto [entry, is_new] = observed_.try_emplace({planned.program_hash, planned.spec.variation});
    if (is_new) {
      RunRequest observation = request;
      observation.schedule = Schedule{};
      observation.observe = true;
      entry->second = executor_.run(observation);
    }
    return entry->second;
  }

  void remember(const PlannedCase& planned, Status status, Diff& diff, const Run& run, const Run* observation) {
    Outcome outcome;
    outcome.spec = &planned.spec;
    outcome.status = status;
    outcome.hidden = planned.spec.shape.hidden;
    outcome.actual = std::move(diff.output_actual);
    outcome.expected = std::move(diff.output_expected);
    outcome.bound = std::move(diff.output_bound);
    outcome.choices = choices_of(planned.program, run);
    if (observation != nullptr && observation->status == RunStatus::ok)
      outcome.again = outputs_of(planned.program, *observation);
    if (!planned.spec.residual) outcome.captured = captured_;
    outcomes_.push_back(std::move(outcome));
  }

  const Plan& plan_;
  const Group& group_;
  const RunSettings& settings_;
  Executor& executor_;
  std::map<Variation, Prepared> prepared_;
  std::vector<double> captured_;
  std::map<std::pair<std::uint64_t, Variation>, Run> observed_;
  std::vector<Outcome> outcomes_;
};

/// What the threads that work on groups share.
struct Shared {
  std::atomic<std::size_t> next_group{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;                                              ///< guards what follows
  std::map<std::size_t, CaseRecord> cases;                       ///< by index in Plan::cases
  std::map<std::size_t, std::vector<RelationRecord>> relations;  ///< by group
  std::exception_ptr failure;
};

// Memory that runs out is the machine's doing: the case is an error, the suite goes on.
CaseRecord run_or_run_out(GroupRun& group, const PlannedCase& planned, const std::string& name,
                          const RunSettings& settings) {
  try {
    return group.run(planned);
  } catch (const std::bad_alloc&) {
    CaseRecord record = begin_record(planned, name, settings.repro);
    record.verdict.status = Status::error;
    record.verdict.explanation = "Out of memory: the case could not be decided on this machine.";
    record.unexpected_because = unexpected_because(planned.spec.expect, record.verdict);
    record.as_expected = record.unexpected_because.empty();
    return record;
  }
}

void run_group(const Plan& plan, std::size_t index, const RunSettings& settings, Executor& executor, Shared& shared,
               const std::function<void(const CaseRecord&)>& done) {
  const Group& group = plan.groups[index];
  GroupRun group_run(plan, group, settings, executor);
  for (const std::size_t c : group.cases) {
    if (shared.stop) return;
    CaseRecord record = run_or_run_out(group_run, plan.cases[c], group.name, settings);
    const std::lock_guard lock(shared.mutex);
    if (settings.fail_fast && !record.as_expected) shared.stop = true;
    done(record);
    shared.cases.emplace(c, std::move(record));
  }
  std::vector<RelationRecord> relations = group_run.relate_all();
  const std::lock_guard lock(shared.mutex);
  shared.relations.emplace(index, std::move(relations));
}

void work(const Plan& plan, const RunSettings& settings, Shared& shared,
          const std::function<void(const CaseRecord&)>& done) {
  try {
    const std::unique_ptr<Executor> executor = make_executor(settings.executor);
    for (std::size_t g; !shared.stop && (g = shared.next_group++) < plan.groups.size();) {
      run_group(plan, g, settings, *executor, shared, done);
    }
  } catch (...) {
    const std::lock_guard lock(shared.mutex);
    if (!shared.failure) shared.failure = std::current_exception();
    shared.stop = true;
  }
}

}  // namespace

void check_inputs(const Plan& plan) {
  std::vector<Error> errors;
  std::set<std::string> seen;
  for (const Group& group : plan.groups) {
    const Case& spec = plan.cases[group.cases.front()].spec;
    if (spec.input.kind != InputSource::Kind::capture) continue;
    try {
      make_inputs(spec);
    } catch (const UserError& error) {
      for (const Error& e : error.errors()) {
        if (seen.insert(to_string(e)).second) errors.push_back(e);
      }
    }
  }
  if (!errors.empty()) throw UserError(std::move(errors));
}

PlanResult run_plan(const Plan& plan, const RunSettings& settings, const std::function<void(const CaseRecord&)>& done) {
  Shared shared;
  std::vector<std::thread> threads;
  for (int i = 1; i < settings.jobs; ++i) {
    threads.emplace_back([&] { work(plan, settings, shared, done); });
  }
  work(plan, settings, shared, done);
  for (std::thread& thread : threads) thread.join();
  if (shared.failure) std::rethrow_exception(shared.failure);

  PlanResult result;
  for (std::size_t c = 0; c < plan.cases.size(); ++c) {
    if (plan.cases[c].spec.skip_reason) {
      result.cases.push_back(begin_record(plan.cases[c], "", settings.repro));
    } else if (const auto found = shared.cases.find(c); found != shared.cases.end()) {
      result.cases.push_back(std::move(found->second));
    }
  }
  for (auto& [group, relations] : shared.relations) {
    for (RelationRecord& relation : relations) result.relations.push_back(std::move(relation));
  }
  return result;
}

}  // namespace moediff
