#include "harness/program/rewrite.h"

#include <algorithm>

#include "harness/core/check.h"

namespace moediff {
namespace {

bool mentions(const Operand& operand, int value) {
  return std::find(operand.values.begin(), operand.values.end(), value) != operand.values.end();
}

void drop_unused_pool_steps(Program& program, int buffer) {
  const bool used =
      std::any_of(program.values.begin(), program.values.end(), [&](const Value& v) { return v.buffer == buffer; });
  if (used) return;
  std::erase_if(program.steps, [&](const Step& step) {
    return (step.kind == StepKind::alloc || step.kind == StepKind::free) && step.buffer == buffer;
  });
}

Step copy_step(std::string name, int stream, Operand from, Operand to) {
  Step step;
  step.kind = StepKind::copy;
  step.name = std::move(name);
  step.stream = stream;
  step.operands = {std::move(from), std::move(to)};
  return step;
}

int add_value(Program& program, Value value) {
  program.values.push_back(std::move(value));
  return static_cast<int>(program.values.size()) - 1;
}

int add_private_buffer(Program& program, const std::string& name, BufferKind kind, std::int64_t bytes) {
  program.buffers.push_back({name, kind, bytes, false});
  return static_cast<int>(program.buffers.size()) - 1;
}

// A value in a private buffer of its own, dense, of the same type and shape as `like`.
int add_private_value(Program& program, const std::string& name, const Value& like) {
  Value value = like;
  value.name = name;
  value.initial.clear();
  value.region = {0, like.region.rows, like.region.row_bytes, like.region.row_bytes};
  value.buffer = add_private_buffer(program, name, BufferKind::activation, like.region.bytes());
  return add_value(program, value);
}

Operand operand_of(const Program& program, int value, int buffer, Region region) {
  const Value& v = program.values[static_cast<std::size_t>(value)];
  return {buffer, region, v.dtype, v.shape, {value}};
}

// The value as it was born, kept in a private buffer: filled from the inputs, or copied right after its producer.
int keep_copy(Program& program, int value) {
  const Value original = program.values[static_cast<std::size_t>(value)];
  const int kept = add_private_value(program, "kept." + original.name, original);
  if (!original.initial.empty()) {
    program.values[static_cast<std::size_t>(kept)].initial = original.initial;
    return kept;
  }
  const int born = producer(program, value);
  CHECK(born >= 0, "a value without initial content has a producer");
  const Value& copy = program.values[static_cast<std::size_t>(kept)];
  Step keep = copy_step("keep " + program.steps[static_cast<std::size_t>(born)].name,
                        program.steps[static_cast<std::size_t>(born)].stream,
                        operand_of(program, value, original.buffer, original.region),
                        operand_of(program, kept, copy.buffer, copy.region));
  program.steps.insert(program.steps.begin() + born + 1, std::move(keep));
  return kept;
}

}  // namespace

int find_step(const Program& program, std::string_view name) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::vector<int> find_calls(const Program& program, OpKind op) {
  std::vector<int> found;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind == StepKind::call && program.steps[i].op == op) found.push_back(static_cast<int>(i));
  }
  return found;
}

int buffer_of(const Program& program, int step, std::string_view slot) {
  const Step& call = program.steps[static_cast<std::size_t>(step)];
  const int index = slot_index(call.op, slot);
  return index < 0 ? -1 : call.operands[static_cast<std::size_t>(index)].buffer;
}

void rebind(Program& program, int value, int buffer) {
  Value& moved = program.values[static_cast<std::size_t>(value)];
  const int old_buffer = moved.buffer;
  const std::int64_t shift = moved.region.offset;
  moved.buffer = buffer;
  moved.region.offset = 0;
  for (Step& step : program.steps) {
    for (Operand& operand : step.operands) {
      if (!mentions(operand, value)) continue;
      operand.buffer = buffer;
      operand.region.offset -= shift;
    }
  }
  drop_unused_pool_steps(program, old_buffer);
}

void erase_step(Program& program, int step) { program.steps.erase(program.steps.begin() + step); }

void move_step(Program& program, int from, int before) {
  Step moved = program.steps[static_cast<std::size_t>(from)];
  erase_step(program, from);
  program.steps.insert(program.steps.begin() + (before > from ? before - 1 : before), std::move(moved));
}

void insert_edge(Program& program, int from, int to, const std::string& name) {
  CHECK(from < to, "an event can only be waited for after it was recorded");
  Step record;
  record.kind = StepKind::record;
  record.name = name + ".record";
  record.stream = program.steps[static_cast<std::size_t>(from)].stream;
  record.event = program.events++;
  Step wait = record;
  wait.kind = StepKind::wait;
  wait.name = name;
  wait.stream = program.steps[static_cast<std::size_t>(to)].stream;
  program.steps.insert(program.steps.begin() + to, std::move(wait));
  program.steps.insert(program.steps.begin() + from + 1, std::move(record));
}

Program restore_before(const Program& program, int value, int reader) {
  Program changed = program;
  const std::string reader_name = program.steps[static_cast<std::size_t>(reader)].name;
  const int kept = keep_copy(changed, value);
  const int at = find_step(changed, reader_name);
  const Value meant = changed.values[static_cast<std::size_t>(value)];
  const Value copy = changed.values[static_cast<std::size_t>(kept)];
  const int stream = changed.steps[static_cast<std::size_t>(at)].stream;

  // The bytes as the reader would have found them, kept aside while it runs. These copies move bytes, not meanings:
  // they carry values of their own so that the Program stays well formed.
  const int aside = add_private_value(changed, "aside." + meant.name, meant);
  const Value aside_value = changed.values[static_cast<std::size_t>(aside)];
  const auto place_over = [&](const std::string& name) {
    Value over = meant;
    over.name = name + "." + meant.name;
    over.initial.clear();
    return add_value(changed, over);
  };
  const int restored = place_over("restored"), returned = place_over("returned");
  Operand place = operand_of(changed, value, meant.buffer, meant.region);
  place.values.clear();  // whatever lies there
  const auto over = [&](int v) { return operand_of(changed, v, meant.buffer, meant.region); };
  Step save = copy_step("save before " + reader_name, stream, place,
                        operand_of(changed, aside, aside_value.buffer, aside_value.region));
  Step restore = copy_step("restore before " + reader_name, stream, operand_of(changed, kept, copy.buffer, copy.region),
                           over(restored));
  Step put_back = copy_step("put back after " + reader_name, stream,
                            operand_of(changed, aside, aside_value.buffer, aside_value.region), over(returned));
  changed.steps.insert(changed.steps.begin() + at + 1, std::move(put_back));
  changed.steps.insert(changed.steps.begin() + at, {std::move(save), std::move(restore)});
  // A kept copy may be made on another stream than the reader's: order the two.
  const int keep =
      find_step(changed, "keep " + (producer(program, value) >= 0
                                        ? program.steps[static_cast<std::size_t>(producer(program, value))].name
                                        : ""));
  const int save_at = find_step(changed, "save before " + reader_name);
  if (keep >= 0 && changed.steps[static_cast<std::size_t>(keep)].stream != stream && keep < save_at) {
    insert_edge(changed, keep, save_at, "kept before " + reader_name);
  }
  return changed;
}

std::optional<Program> with_edge(const Program& program, int from, int to) {
  if (from >= to) return std::nullopt;
  Program changed = program;
  insert_edge(changed, from, to, "added");
  return changed;
}

Program synchronised(const Program& program) {
  Program changed = program;
  changed.steps.clear();
  for (const Step& step : program.steps) {
    changed.steps.push_back(step);
    if (step.kind != StepKind::call && step.kind != StepKind::copy) continue;
    Step sync;
    sync.kind = StepKind::host_sync;
    sync.name = "sync after " + step.name;
    changed.steps.push_back(std::move(sync));
  }
  return changed;
}

Program with_private_workspaces(const Program& program) {
  Program changed = program;
  for (std::size_t v = 0; v < program.values.size(); ++v) {
    const Value& value = program.values[v];
    if (program.buffers[static_cast<std::size_t>(value.buffer)].kind != BufferKind::workspace) continue;
    const int step = producer(program, static_cast<int>(v));
    const std::string name =
        "private workspace of " + (step < 0 ? value.name : program.steps[static_cast<std::size_t>(step)].name);
    rebind(changed, static_cast<int>(v), add_private_buffer(changed, name, BufferKind::workspace, value.region.end()));
  }
  return changed;
}

std::optional<Program> with_outputs_given(const Program& program, int step, const std::map<int, std::string>& initial) {
  Program changed = program;
  const Step call = program.steps[static_cast<std::size_t>(step)];
  std::vector<Step> copies;
  for (const int index : write_operands(call)) {
    const Operand& output = call.operands[static_cast<std::size_t>(index)];
    const auto given = initial.find(index);
    if (output.buffer < 0) continue;
    if (given == initial.end() || output.values.size() != 1) return std::nullopt;
    const Value like = program.values[static_cast<std::size_t>(output.values.front())];
    const int source = add_private_value(changed, "expected " + like.name, like);
    Value& value = changed.values[static_cast<std::size_t>(source)];
    value.initial = given->second;
    copies.push_back(copy_step("expected " + like.name + " for " + call.name, call.stream,
                               operand_of(changed, source, value.buffer, value.region), output));
  }
  erase_step(changed, step);
  changed.steps.insert(changed.steps.begin() + step, copies.begin(), copies.end());
  return changed;
}

}  // namespace moediff
