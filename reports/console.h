// The report on a terminal. Every function gives text; the caller chooses the stream (results: stdout). The text is a
// function of the records alone, seconds excepted, so that two runs can be compared with diff.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "harness/store/record.h"

namespace moediff {

/// True when `file` is a terminal, NO_COLOR is unset or empty, and TERM is not "dumb".
bool use_colour(std::FILE* file);

/// The cases of a plan, a line each: id and what is expected, or why it is skipped; then the counts. For `moediff
/// list`.
std::string render_plan(std::span<const Case> cases);

/// One line: pass, caught, skipped, … or UNEXPECTED with what came out; id; cause and place; seconds.
std::string render_case_line(const CaseRecord& record, bool colour);
std::string render_relation_line(const RelationRecord& relation, bool colour);

/// A case in full: sentence, evidence with both numbers, at most 4 mismatches by name, hazards, repro line.
std::string render_failure(const CaseRecord& record, bool colour);
std::string render_relation_failure(const RelationRecord& relation, bool colour);

/// All failures worth reading: unexpected cases and relations in full, up to 10, the rest counted; of the caught ones
/// the first of each cause and place in full, the others counted.
std::string render_failures(const Report& report, bool colour);

/// The last lines: counts and the verdict on the whole run.
std::string render_summary(const Report& report, bool colour);

}  // namespace moediff
