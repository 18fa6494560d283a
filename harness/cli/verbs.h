// What each verb does with the flow's values. All return the exit status (0, 1, 2, 3; 125 is thrown as CannotRun).
#pragma once

#include "harness/cli/command.h"
#include "harness/program/plan.h"
#include "harness/store/record.h"

namespace moediff {

/// Lines, or with --canonical complete YAML.
int list_plan(const Command& command, const Plan& plan);
/// Static check of every Program: hazards found without running anything.
int check_plan(const Plan& plan);
/// Files with expected values of other implementations, one by one; a file that cannot be replayed stops no other.
int replay(const Command& command);
/// Number conversions of a provider, format by format.
int check_conformance(const Command& command);
/// The table of planted defects and of the checks that see them.
int show_sensitivity(const Command& command);
/// A cause, a stage, a relation, a fault, or a case of a report.
int explain(const Command& command);
int list_faults();
int doctor(const Command& command);

/// Version, commit, build, machine and command of this run.
Report begin_report(const Command& command);
/// UserError, before anything runs, for report files that cannot be written.
void check_report_targets(const Command& command);
/// Writes the files the command asks for and prints failures and summary to stdout. UserError when a file cannot be
/// written.
void write_reports(const Command& command, const Report& report);
/// 0, 1 or 3.
int exit_status(const Report& report);

}  // namespace moediff
