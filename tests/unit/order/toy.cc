#include "tests/unit/order/toy.h"

#include <algorithm>

namespace moediff::test {

Toy::Toy(std::vector<std::string> streams) { program.streams = std::move(streams); }

int Toy::buffer(const std::string& name, BufferKind kind, std::int64_t bytes, bool pooled) {
  program.buffers.push_back({name, kind, bytes, pooled});
  return static_cast<int>(program.buffers.size()) - 1;
}

int Toy::value(const std::string& name, int in_buffer, bool initial, Region rows) {
  Value value;
  value.name = name;
  value.buffer = in_buffer;
  const std::int64_t bytes = program.buffers[in_buffer].bytes;
  value.region = rows.row_bytes > 0 ? rows : Region{0, 1, bytes, bytes};
  value.initial = initial ? name : "";
  program.values.push_back(value);
  return static_cast<int>(program.values.size()) - 1;
}

int Toy::alone(const std::string& name, bool initial) { return value(name, buffer(name), initial); }

int Toy::add(Step step) {
  program.steps.push_back(std::move(step));
  return static_cast<int>(program.steps.size()) - 1;
}

Operand Toy::operand(int value) const {
  Operand o;
  o.buffer = program.values[value].buffer;
  o.region = program.values[value].region;
  o.values = {value};
  return o;
}

int Toy::call(const std::string& name, int stream, std::vector<int> reads, int write) {
  Step step;
  step.name = name;
  step.stream = stream;
  step.op = OpKind::scale_add;
  step.operands.resize(3);
  for (std::size_t i = 0; i < reads.size(); ++i) step.operands[i] = operand(reads[i]);
  step.operands[2] = operand(write);
  return add(step);
}

int Toy::gemm(const std::string& name, int stream, int read, int write, int workspace) {
  Step step;
  step.name = name;
  step.stream = stream;
  step.op = OpKind::gemm1;
  step.operands.resize(slots(OpKind::gemm1).size());
  step.operands[0] = operand(read);
  step.operands[4] = operand(write);
  step.operands[5] = operand(workspace);
  return add(step);
}

int Toy::alloc(int in_buffer, int stream) {
  Step step;
  step.kind = StepKind::alloc;
  step.name = "alloc " + program.buffers[in_buffer].name;
  step.stream = stream;
  step.buffer = in_buffer;
  return add(step);
}

int Toy::free(int in_buffer, int stream) {
  Step step;
  step.kind = StepKind::free;
  step.name = "free " + program.buffers[in_buffer].name;
  step.stream = stream;
  step.buffer = in_buffer;
  return add(step);
}

int Toy::wait(const std::string& name, int from, int to) {
  Step record;
  record.kind = StepKind::record;
  record.name = name + ".record";
  record.stream = from;
  record.event = program.events;
  add(record);
  Step step;
  step.kind = StepKind::wait;
  step.name = name;
  step.stream = to;
  step.event = program.events++;
  return add(step);
}

int Toy::host_sync() {
  Step step;
  step.kind = StepKind::host_sync;
  step.name = "sync";
  return add(step);
}

int step_named(const Program& program, const std::string& name) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

namespace {

TraceItem::Kind item_kind(StepKind kind) {
  switch (kind) {
    case StepKind::record:
      return TraceItem::Kind::record;
    case StepKind::wait:
      return TraceItem::Kind::wait;
    case StepKind::alloc:
      return TraceItem::Kind::alloc;
    case StepKind::free:
      return TraceItem::Kind::free;
    case StepKind::host_sync:
      return TraceItem::Kind::device_sync;
    default:
      return TraceItem::Kind::launch;
  }
}

void place(const Program& program, Run& run) {
  run.placement.resize(program.buffers.size());
  std::vector<int> freed;
  const auto fresh = [&](int buffer) {
    run.blocks.push_back({program.buffers[buffer].name, program.buffers[buffer].bytes, false});
    run.placement[buffer] = {static_cast<int>(run.blocks.size()) - 1, 0};
  };
  for (int b = 0; b < static_cast<int>(program.buffers.size()); ++b) {
    if (!program.buffers[b].pooled) fresh(b);
  }
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::free) freed.push_back(run.placement[step.buffer].block);
    if (step.kind != StepKind::alloc) continue;
    if (freed.empty()) {
      fresh(step.buffer);
    } else {
      run.placement[step.buffer] = {freed.back(), 0};
      freed.pop_back();
    }
  }
}

}  // namespace

Run traced(const Program& program, const std::vector<std::string>& two_launches) {
  Run run;
  place(program, run);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    TraceItem item;
    item.kind = item_kind(step.kind);
    item.step = static_cast<int>(i);
    item.stream = 1 + step.stream;
    item.event = step.event;
    run.trace.push_back(item);
    if (std::find(two_launches.begin(), two_launches.end(), step.name) != two_launches.end()) run.trace.push_back(item);
  }
  return run;
}

Run observed(const Program& program, const Run& run) {
  Run seen;
  seen.observed = true;
  seen.blocks = run.blocks;
  seen.placement = run.placement;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.kind != StepKind::call) continue;
    seen.accesses.emplace_back().step = static_cast<int>(i);
    const auto pages = [](const Region& region) {
      return std::pair(region.begin() / 4096 * 4096, (region.end() + 4095) / 4096 * 4096);
    };
    for (const int operand : read_operands(step)) {
      const auto [begin, end] = pages(step.operands[operand].region);
      touch(seen, static_cast<int>(i), step.operands[operand].buffer, Touch::What::read, begin, end);
    }
    for (const int operand : write_operands(step)) {
      const Region& region = step.operands[operand].region;
      const auto [begin, end] = pages(region);
      touch(seen, static_cast<int>(i), step.operands[operand].buffer, Touch::What::write, begin, end);
      for (std::int64_t row = 0; row < region.rows; ++row) {
        const std::int64_t at = region.offset + row * region.stride;
        touch(seen, static_cast<int>(i), step.operands[operand].buffer, Touch::What::changed, at,
              at + region.row_bytes);
      }
    }
  }
  return seen;
}

void touch(Run& observation, int step, int buffer, Touch::What what, std::int64_t begin, std::int64_t end) {
  for (StepAccesses& accesses : observation.accesses) {
    const Placement& place = observation.placement[buffer];
    if (accesses.step == step)
      accesses.touches.push_back({place.block, place.offset + begin, place.offset + end, what});
  }
}

std::vector<std::string> summary(const Program& program, const OrderResult& result) {
  const auto name = [&](int step) { return step < 0 ? std::string("-") : program.steps[step].name; };
  std::vector<std::string> lines;
  for (const Hazard& hazard : result.hazards) {
    const std::string value = hazard.value < 0 ? hazard.memory : program.values[hazard.value].name;
    lines.push_back(std::string(to_string(hazard.kind)) + " " + name(hazard.writer) + ">" + name(hazard.reader) +
                    (value.empty() ? "" : " " + value));
  }
  return lines;
}

}  // namespace moediff::test
