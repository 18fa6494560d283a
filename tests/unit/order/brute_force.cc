#include "tests/unit/order/brute_force.h"

#include <map>

namespace moediff::test {
namespace {

using Kind = TraceItem::Kind;

/// May item i start when exactly `done` are done? From the rules of HIP streams, item by item.
bool can_start(const std::vector<TraceItem>& items, const std::vector<bool>& done, int i) {
  const TraceItem& item = items[i];
  int record = -1;
  for (int j = 0; j < i; ++j) {
    const TraceItem& earlier = items[j];
    if (item.kind == Kind::wait && earlier.kind == Kind::record && earlier.event == item.event) record = j;
    if (done[j]) continue;
    const bool same_stream = earlier.stream == item.stream;
    const bool null_stream = (earlier.stream == 0 && item.blocking) || (item.stream == 0 && earlier.blocking);
    const bool host = item.kind == Kind::device_sync || earlier.kind == Kind::device_sync;
    if (same_stream || null_stream || host) return false;
  }
  return record < 0 || done[record];
}

/// Memory as far as versions go.
struct Memory {
  std::map<int, int> held;                  ///< block -> value, absent: nothing
  std::vector<bool> alive;                  ///< by buffer
  std::map<int, std::vector<int>> writers;  ///< block -> steps in the order of their writes
};

Memory at_start(const Program& program, const Run& run) {
  Memory memory;
  for (const Buffer& buffer : program.buffers) memory.alive.push_back(!buffer.pooled);
  for (std::size_t v = 0; v < program.values.size(); ++v) {
    const Value& value = program.values[v];
    if (!value.initial.empty()) memory.held[run.placement[value.buffer].block] = static_cast<int>(v);
  }
  return memory;
}

void carry_out(const Program& program, const Run& run, int step, Memory& memory, Truth& truth) {
  const Step& s = program.steps[step];
  if (s.kind == StepKind::alloc) memory.alive[s.buffer] = true;
  if (s.kind == StepKind::free) memory.alive[s.buffer] = false;
  if (s.kind != StepKind::call) return;
  for (const int operand : read_operands(s)) {
    const Operand& o = s.operands[operand];
    const auto held = memory.held.find(run.placement[o.buffer].block);
    const bool right = held != memory.held.end() && held->second == o.values.front();
    if (!memory.alive[o.buffer]) truth.outside_life.insert(step);
    if (!right) truth.wrong_reads.insert({step, o.values.front()});
  }
  for (const int operand : write_operands(s)) {
    const Operand& o = s.operands[operand];
    const int block = run.placement[o.buffer].block;
    if (!memory.alive[o.buffer]) truth.outside_life.insert(step);
    memory.held[block] = o.values.front();
    for (const int earlier : memory.writers[block]) truth.either_order.insert({earlier, step});
    memory.writers[block].push_back(step);
  }
}

void check_outputs(const Program& program, const Run& run, const Memory& memory, Truth& truth) {
  for (const int value : program.outputs) {
    const auto held = memory.held.find(run.placement[program.values[value].buffer].block);
    if (held == memory.held.end() || held->second != value) truth.wrong_outputs.insert(value);
  }
}

void explore(const Program& program, const Run& run, std::vector<bool>& done, std::size_t count, const Memory& memory,
             Truth& truth) {
  if (count == run.trace.size()) {
    ++truth.interleavings;
    check_outputs(program, run, memory, truth);
    return;
  }
  for (int i = 0; i < static_cast<int>(run.trace.size()); ++i) {
    if (done[i] || !can_start(run.trace, done, i)) continue;
    Memory next = memory;
    carry_out(program, run, run.trace[i].step, next, truth);
    done[i] = true;
    explore(program, run, done, count + 1, next, truth);
    done[i] = false;
  }
}

}  // namespace

Truth all_interleavings(const Program& program, const Run& run) {
  Truth truth;
  std::vector<bool> done(run.trace.size(), false);
  explore(program, run, done, 0, at_start(program, run), truth);
  // Only pairs seen both ways are unordered.
  std::set<std::pair<int, int>> both;
  for (const auto& [a, b] : truth.either_order) {
    if (a < b && truth.either_order.count({b, a}) > 0) both.insert({a, b});
  }
  truth.either_order = both;
  return truth;
}

bool can_happen(const std::vector<TraceItem>& items, const std::vector<int>& order) {
  std::vector<bool> done(items.size(), false);
  if (order.size() != items.size()) return false;
  for (const int item : order) {
    if (item < 0 || item >= static_cast<int>(items.size()) || done[item] || !can_start(items, done, item)) return false;
    done[item] = true;
  }
  return true;
}

bool shows_wrong_version(const Program& program, const Run& run, const std::vector<int>& order) {
  Truth truth;
  Memory memory = at_start(program, run);
  for (const int item : order) carry_out(program, run, run.trace[item].step, memory, truth);
  check_outputs(program, run, memory, truth);
  return !truth.wrong_reads.empty() || !truth.outside_life.empty() || !truth.wrong_outputs.empty();
}

}  // namespace moediff::test
