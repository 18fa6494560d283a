// Rewrites of Programs: the building blocks of faults (which break a Program) and interventions (which mend one).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/program.h"

namespace moediff {

/// First step of that name, or -1.
int find_step(const Program& program, std::string_view name);
/// Calls of an op in issue order (one, or one a chunk).
std::vector<int> find_calls(const Program& program, OpKind op);
/// Buffer that a call's operand in `slot` lies in; -1 when absent.
int buffer_of(const Program& program, int step, std::string_view slot);

/// Moves a value, with every operand that means it, to the start of another buffer. Buffers left without a value lose
/// their alloc and free steps.
void rebind(Program& program, int value, int buffer);
void erase_step(Program& program, int step);
void move_step(Program& program, int from, int before);
/// Inserts `record` after step `from` and `wait` before step `to` (later in issue order) on their streams.
void insert_edge(Program& program, int from, int to, const std::string& name);

/// Interventions. Each returns the rewritten Program; the candidate's kernels are untouched.

/// Keeps a private copy of `value` from the moment it is written, and puts it back into the bytes that step `reader`
/// reads just for the time of that step; what lay there before is put back after it.
Program restore_before(const Program& program, int value, int reader);
/// Makes step `to` wait for step `from`. None when `from` is issued later than `to`.
std::optional<Program> with_edge(const Program& program, int from, int to);
/// The host waits for the device after every call and copy.
Program synchronised(const Program& program);
/// A workspace of its own for every step that has one.
Program with_private_workspaces(const Program& program);

/// Puts copies from named inputs in the place of call `step`: `initial` gives the input for every operand that it
/// writes. None when the call also has scratch, whose values would have no writer.
std::optional<Program> with_outputs_given(const Program& program, int step, const std::map<int, std::string>& initial);

}  // namespace moediff
