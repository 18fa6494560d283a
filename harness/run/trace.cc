#include "harness/run/trace.h"

#include <array>
#include <string>

#include "harness/core/check.h"

namespace moediff {
namespace {

using Kind = TraceItem::Kind;
static_assert(static_cast<int>(Kind::launch) == MD_ITEM_LAUNCH && static_cast<int>(Kind::free) == MD_ITEM_FREE &&
                  static_cast<int>(Kind::host_func) == MD_ITEM_HOST_FUNC,
              "trace items cross the ABI by number");

TraceItem from_item(const md_item& item) {
  TraceItem traced;
  traced.kind = static_cast<Kind>(item.kind);
  traced.step = item.tag;
  traced.stream = item.stream;
  traced.blocking = item.blocking != 0;
  traced.event = item.event;
  traced.block = item.block;
  traced.offset = item.offset;
  traced.bytes = item.bytes;
  traced.name = item.name == nullptr ? "" : item.name;
  return traced;
}

/// New number of each item, -1 for those left out.
std::vector<int> renumber(int count, const std::vector<std::pair<int, int>>& left_out) {
  std::vector<int> number(count, 0);
  for (const auto& [begin, end] : left_out) {
    for (int i = begin; i < end && i < count; ++i) number[i] = -1;
  }
  int next = 0;
  for (int& entry : number) {
    if (entry == 0) entry = next++;
  }
  return number;
}

Placement find_block(const md_block* blocks, int count, const std::byte* address, const std::string& label) {
  Placement found;
  for (int i = 0; i < count; ++i) {
    const auto* begin = static_cast<const std::byte*>(blocks[i].address);
    const bool inside = address >= begin && address <= begin + blocks[i].bytes;
    if (!inside || blocks[i].provider_owned != 0) continue;
    // A zero-sized neighbour may share the address; the label decides.
    const bool named = blocks[i].label != nullptr && label == blocks[i].label;
    if (found.block < 0 || named) found = {i, address - begin};
    if (named) break;
  }
  return found;
}

}  // namespace

void collect_trace(const md_host_control& host, const std::vector<std::pair<int, int>>& left_out, Run& run) {
  const md_item* items = nullptr;
  const int count = host.trace(&items);
  const std::vector<int> number = renumber(count, left_out);
  for (int i = 0; i < count; ++i) {
    if (number[i] >= 0) run.trace.push_back(from_item(items[i]));
  }
  const std::int32_t* executed = nullptr;
  const int executed_count = host.executed(&executed);
  for (int i = 0; i < executed_count; ++i) {
    CHECK(executed[i] >= 0 && executed[i] < count, "the backend executed an item that it does not list");
    if (number[executed[i]] >= 0) run.executed.push_back(number[executed[i]]);
  }
}

void collect_blocks(const md_host_control& host, const Program& program, const DeviceState& state, Run& run) {
  const md_block* blocks = nullptr;
  const int count = host.blocks(&blocks);
  for (int i = 0; i < count; ++i) {
    run.blocks.push_back(
        {blocks[i].label == nullptr ? "" : blocks[i].label, blocks[i].bytes, blocks[i].provider_owned != 0});
  }
  run.placement.assign(program.buffers.size(), {});
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (!program.buffers[i].pooled)
      run.placement[i] = find_block(blocks, count, state.base[i], program.buffers[i].name);
  }
  for (const TraceItem& item : run.trace) {
    if (item.kind != Kind::alloc || item.step < 0) continue;
    const Step& step = program.steps[item.step];
    if (step.kind == StepKind::alloc) run.placement[step.buffer] = {item.block, item.offset};
  }
}

TraceItem declared_item(const Program& program, int number) {
  // By StepKind.
  constexpr std::array<Kind, 8> kKinds{Kind::launch, Kind::copy,  Kind::fill, Kind::record,
                                       Kind::wait,   Kind::alloc, Kind::free, Kind::device_sync};
  const Step& step = program.steps[number];
  TraceItem item;
  item.kind = kKinds[static_cast<std::size_t>(step.kind)];
  item.step = number;
  item.stream = step.kind == StepKind::host_sync ? 0 : step.stream + 1;
  item.blocking = false;
  item.event = step.event;
  item.block = step.buffer;
  item.name = step.kind == StepKind::call ? std::string(to_string(step.op)) : "";
  if (step.buffer >= 0) item.bytes = program.buffers[step.buffer].bytes;
  if (step.kind == StepKind::copy || step.kind == StepKind::fill) {
    const Operand& to = step.operands.back();
    item.block = to.buffer;
    item.offset = to.region.offset;
    item.bytes = to.region.bytes();
  }
  return item;
}

void declare_blocks(const Program& program, Run& run) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    run.blocks.push_back({program.buffers[i].name, program.buffers[i].bytes, false});
    run.placement.push_back({static_cast<int>(i), 0});
  }
}

}  // namespace moediff
