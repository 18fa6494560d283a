// Building the scene, and the questions that several rules ask of it.
#include "harness/order/scene.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/order/ranges.h"
#include "harness/order/synthetic_trace.h"

namespace moediff {
namespace {

bool does_work(StepKind kind) {
  return kind == StepKind::call || kind == StepKind::copy || kind == StepKind::fill || kind == StepKind::alloc ||
         kind == StepKind::free;
}

TraceItem stand_in(const Program& program, int step) {
  TraceItem item;
  item.step = step;
  item.stream = 1 + program.steps[step].stream;
  return item;
}

/// A step of a run that ended well was carried out even when its provider launched nothing that the runtime saw. It
/// gets an item at its place in issue order, on its own stream.
std::vector<TraceItem> with_stand_ins(const Program& program, const Run& traced) {
  if (traced.status != RunStatus::ok) return traced.trace;
  const int steps = static_cast<int>(program.steps.size());
  std::vector<bool> seen(program.steps.size(), false);
  for (const TraceItem& item : traced.trace) {
    if (item.step >= 0 && item.step < steps) seen[item.step] = true;
  }
  std::vector<TraceItem> items;
  int next = 0;
  const auto fill_up_to = [&](int step) {
    for (; next < step; ++next) {
      if (!seen[next] && does_work(program.steps[next].kind)) items.push_back(stand_in(program, next));
    }
  };
  for (const TraceItem& item : traced.trace) {
    fill_up_to(std::min(item.step, steps));
    items.push_back(item);
  }
  fill_up_to(steps);
  return items;
}

std::vector<int> find_producers(const Program& program) {
  std::vector<int> producers(program.values.size(), -1);
  for (std::size_t step = 0; step < program.steps.size(); ++step) {
    for (const int operand : write_operands(program.steps[step])) {
      for (const int value : program.steps[step].operands[operand].values) producers[value] = static_cast<int>(step);
    }
  }
  return producers;
}

}  // namespace

Scene make_scene(const Program& program, const Run& traced, const Run* observed) {
  std::vector<TraceItem> items = traced.trace.empty() ? synthetic_trace(program) : with_stand_ins(program, traced);
  Clocks clocks(items, static_cast<int>(program.steps.size()));
  std::vector<Access> accesses = collect_accesses(program, observed);
  std::erase_if(accesses, [&](const Access& access) { return !clocks.issued(access.step); });
  std::vector<std::vector<int>> by_buffer(program.buffers.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].buffer >= 0) by_buffer[accesses[i].buffer].push_back(static_cast<int>(i));
  }
  return {program,
          traced,
          observed,
          std::move(items),
          std::move(clocks),
          std::move(accesses),
          std::move(by_buffer),
          find_producers(program)};
}

Region meant_bytes(const Program& program, const Operand& operand, int value) {
  const Value& v = program.values[value];
  // An operand elsewhere than its value shows other bytes altogether: all of them are in question.
  if (v.buffer != operand.buffer || !overlap(v.region, operand.region)) return operand.region;
  return common(operand.region, v.region);
}

int value_before(const Scene& scene, int buffer, const Region& region, int step) {
  int found = -1, latest = -2;
  for (std::size_t v = 0; v < scene.program.values.size(); ++v) {
    const Value& value = scene.program.values[v];
    if (value.buffer != buffer || !overlap(value.region, region)) continue;
    const int producer = scene.producers[v];
    if (producer < step && producer > latest) {
      found = static_cast<int>(v);
      latest = producer;
    }
  }
  return found;
}

bool may_come_between(const Scene& scene, int value, int writer, int reader) {
  const int producer = scene.producers[value];
  if (writer == reader || writer == producer) return false;
  if (scene.clocks.before(reader, writer)) return false;
  return producer < 0 || !scene.clocks.before(writer, producer);
}

void name_missing_edge(const Scene& scene, Hazard& hazard, int from, int to) {
  if (!scene.clocks.unordered(from, to)) return;
  const Step& first = scene.program.steps[from];
  const Step& second = scene.program.steps[to];
  hazard.edge_from = from;
  hazard.edge_to = to;
  hazard.edge_missing =
      first.stream == second.stream
          ? fmt::format("{} must wait for the work that {} put on a stream of its own", second.name, first.name)
          : fmt::format("{} must wait for {}'s {} before {}", scene.program.streams[second.stream],
                        scene.program.streams[first.stream], first.name, second.name);
}

void report(std::vector<Hazard>& hazards, const Hazard& hazard) {
  for (Hazard& known : hazards) {
    if (known.kind != hazard.kind || known.writer != hazard.writer || known.reader != hazard.reader) continue;
    if (known.value != hazard.value || known.memory != hazard.memory) continue;
    if (!contains(known.region, hazard.region)) known.region = hull(known.region, hazard.region);
    return;
  }
  hazards.push_back(hazard);
}

}  // namespace moediff
