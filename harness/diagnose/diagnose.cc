#include "harness/diagnose/diagnose.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/text.h"
#include "harness/diagnose/experiments.h"
#include "harness/diagnose/replacement.h"

namespace moediff {
namespace {

/// What the numbers of one run say.
struct Reading {
  bool wrong = false;
  double worst = 0;  ///< max |actual - expected| / max |expected| of the outputs
};

// A run whose outputs were not compared shows nothing, and so counts as no cure.
Reading read_off(const Diff& diff) {
  const auto is_compared_output = [](const StageDiff& s) { return s.mode == DiffMode::chained && s.compared > 0; };
  if (std::none_of(diff.stages.begin(), diff.stages.end(), is_compared_output)) {
    return {true, std::numeric_limits<double>::infinity()};
  }
  const bool wrong = std::any_of(diff.stages.begin(), diff.stages.end(), [](const StageDiff& s) { return s.failed(); });
  return {wrong, diff.worst_chained};
}

// A run that does not end is as wrong as can be.
Reading measure(const Laboratory& lab, const Program& program, const Schedule& schedule) {
  RunRequest request = lab.request;
  request.program = &program;
  request.schedule = schedule;
  request.observe = false;
  const Run run = lab.executor->run(request);
  if (run.status != RunStatus::ok) return {true, std::numeric_limits<double>::infinity()};
  return read_off(compare(program, run, *lab.expected));
}

Reading worse(const Reading& a, const Reading& b) { return {a.wrong || b.wrong, std::max(a.worst, b.worst)}; }

Schedule policy(SchedulePolicy kind, std::uint64_t seed = 0) {
  Schedule schedule;
  schedule.policy = kind;
  schedule.seed = seed;
  return schedule;
}

// An intervention must hold in every order the device might choose, not in a lucky one: schedules that have little in
// common, the witness among them where it still applies.
Reading try_hard(const Laboratory& lab, const Intervention& intervention, const std::vector<int>& witness) {
  std::vector<Schedule> schedules{lab.request.schedule};
  if (intervention.program.streams.size() > 1) {
    schedules = {policy(SchedulePolicy::submission), policy(SchedulePolicy::reverse),
                 policy(SchedulePolicy::random, 1)};
    if (intervention.keeps_order && !witness.empty()) {
      schedules.push_back(policy(SchedulePolicy::given));
      schedules.back().order = witness;
    }
  }
  Reading worst;
  for (Schedule& schedule : schedules) {
    schedule.reuse_memory = intervention.reuse_memory;
    worst = worse(worst, measure(lab, intervention.program, schedule));
  }
  return worst;
}

/// The order in which the hazard bites, and the numbers it gives.
struct Witness {
  std::vector<int> order;
  Reading reading;
  int tried = 0;
};

// Of the orders in which the victim meets the wrong version, the first with wrong numbers.
Witness find_witness(const Run& run, const Hazard& hazard, const Laboratory& lab) {
  Witness witness;
  for (const std::vector<int>& order : witness_orders(*lab.request.program, run, hazard)) {
    Schedule schedule = policy(SchedulePolicy::given);
    schedule.order = order;
    const Reading reading = measure(lab, *lab.request.program, schedule);
    ++witness.tried;
    if (!reading.wrong) continue;
    witness.order = order;
    witness.reading = reading;
    break;
  }
  return witness;
}

// Seen, not inferred: the observation pass watched the op's memory and ran it again on complementary contents.
bool is_seen(Cause cause) {
  return cause == Cause::undeclared_write || cause == Cause::undeclared_read || cause == Cause::nondeterministic;
}

std::vector<Hazard> of_deciding_kind(const OrderResult& order, int deciding) {
  const Hazard& first = order.hazards[static_cast<std::size_t>(deciding)];
  std::vector<Hazard> hazards{first};
  for (std::size_t i = 0; i < order.hazards.size(); ++i) {
    if (static_cast<int>(i) != deciding && order.hazards[i].kind == first.kind) hazards.push_back(order.hazards[i]);
  }
  return hazards;
}

bool is_race(Cause cause) {
  return cause == Cause::unordered_access || cause == Cause::shared_workspace || cause == Cause::lifetime;
}

// "off by 0.3 of max|expected|", or what cannot be measured.
std::string off_by(double worst) {
  return std::isfinite(worst) ? "off by " + short_number(worst) + " of max|expected|" : "not even finite";
}

void add_witness(Verdict& verdict, const Witness& witness, const Reading& own) {
  verdict.evidence.push_back({"witness schedule, the case's own program", false, own.worst, witness.reading.worst});
  verdict.explanation +=
      " In a witness schedule that the waits allow, the result is " + off_by(witness.reading.worst) + ".";
}

void add_experiments(Verdict& verdict, std::span<const Hazard> hazards, const Laboratory& lab, const Reading& before,
                     const std::vector<int>& witness) {
  for (const ExperimentRow& row : experiments()) {
    if (std::find(row.tried_for.begin(), row.tried_for.end(), *verdict.cause) == row.tried_for.end()) continue;
    const std::optional<Intervention> intervention = row.apply(*lab.request.program, hazards);
    if (!intervention) continue;
    const Reading after = try_hard(lab, *intervention, witness);
    verdict.evidence.push_back({intervention->name, before.wrong && !after.wrong, before.worst, after.worst});
  }
}

// Wrong numbers without a hazard: is it this op alone? Its calls are replaced by copies of what the reference expects.
void add_replacement(Verdict& verdict, const Run& run, const Laboratory& lab, const Reading& before) {
  const std::optional<Replacement> replacement =
      replace_by_expected(*lab.request.program, run, verdict.blame.step, *lab.expected);
  if (!replacement) return;
  Expected expected(replacement->inputs);
  Laboratory other = lab;
  other.expected = &expected;
  other.request.inputs = replacement->inputs;
  const Reading after = measure(other, replacement->program, lab.request.schedule);
  verdict.evidence.push_back({replacement->name, before.wrong && !after.wrong, before.worst, after.worst});
}

// The first cure is the proof: experiments are ordered from the specific to the general.
void conclude(Verdict& verdict) {
  const auto cure =
      std::find_if(verdict.evidence.begin(), verdict.evidence.end(), [](const Evidence& e) { return e.cured; });
  if (cure != verdict.evidence.end()) {
    verdict.confidence = Confidence::proved;
    verdict.explanation += " Proof: \"" + cure->intervention + "\" and nothing else changed, and the result is " +
                           off_by(cure->worst_after) + " instead of " + off_by(cure->worst_before) + ".";
  } else if (is_seen(*verdict.cause)) {
    verdict.confidence = Confidence::proved;
  } else if (verdict.hazard < 0) {
    // No hazard, and no intervention on order or memory helps: what is left is the op itself, judged on what it read.
    verdict.confidence = Confidence::fits;
  }
}

}  // namespace

void diagnose(Verdict& verdict, const Run& run, const OrderResult& order, const Diff* diff, const Laboratory& lab) {
  if (verdict.status != Status::fail || !verdict.cause || diff == nullptr) return;
  const Reading own = read_off(*diff);
  std::vector<Hazard> hazards;
  Reading before = own;
  Witness witness;
  if (verdict.hazard >= 0) {
    hazards = of_deciding_kind(order, verdict.hazard);
    if (is_race(*verdict.cause)) {
      for (std::size_t i = 0; i < hazards.size() && witness.order.empty(); ++i)
        witness = find_witness(run, hazards[i], lab);
      if (!witness.order.empty()) {
        add_witness(verdict, witness, own);
        before = worse(own, witness.reading);
      } else if (witness.tried > 0 && !own.wrong) {
        verdict.explanation +=
            " None of " + std::to_string(witness.tried) + " witness schedules gave wrong numbers on this input.";
      }
    }
  }
  if (verdict.hazard < 0 && before.wrong) add_replacement(verdict, run, lab, before);
  add_experiments(verdict, hazards, lab, before, witness.order);
  conclude(verdict);
}

}  // namespace moediff
