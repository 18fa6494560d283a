// From what was measured to a Record: names in place of indices, and the picture.
#pragma once

#include "harness/order/hazard.h"
#include "harness/program/plan.h"
#include "harness/run/run.h"
#include "harness/store/record.h"

namespace moediff {

/// The parts of a record that follow from the plan alone: what a skipped case has. `program`: as the user called
/// moediff.
CaseRecord begin_record(const PlannedCase& planned, const std::string& group, const std::string& program);

/// Fills in what the run showed. `diff` is null when the run did not end well.
void complete_record(CaseRecord& record, const PlannedCase& planned, const Run& run, const OrderResult& order,
                     const Diff* diff, Verdict verdict);

/// One paste that runs this case again; `program` as the user called it, so that the paste finds it too.
std::string repro_line(const Case& spec, const std::string& program);

}  // namespace moediff
