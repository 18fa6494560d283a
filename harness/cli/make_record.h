// From what was measured to a Record: names in place of indices, and the picture.
#pragma once

#include "harness/order/hazard.h"
#include "harness/program/plan.h"
#include "harness/run/run.h"
#include "harness/store/record.h"

namespace moediff {

/// What a repro line repeats of the command that found the case.
struct ReproContext {
  std::string program = "moediff";  ///< as the user called it, so that the paste finds it too
  std::string options;              ///< " --timeout 2 --backend rocm": what is not in the scenario
};

/// The parts of a record that follow from the plan alone: what a skipped case has.
CaseRecord begin_record(const PlannedCase& planned, const std::string& group, const ReproContext& context);

/// Fills in what the run showed. `diff` is null when the run did not end well.
void complete_record(CaseRecord& record, const PlannedCase& planned, const Run& run, const OrderResult& order,
                     const Diff* diff, Verdict verdict);

/// One paste that runs this case again, quoted for a shell.
std::string repro_line(const Case& spec, const ReproContext& context);

}  // namespace moediff
