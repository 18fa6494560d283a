// One item a step; the kinds map one to one, a host synchronisation is one of the device.
#include "harness/order/synthetic_trace.h"

#include <array>

namespace moediff {
namespace {

using Kind = TraceItem::Kind;

constexpr std::array<Kind, 8> kItemKinds{Kind::launch, Kind::copy,  Kind::fill, Kind::record,
                                         Kind::wait,   Kind::alloc, Kind::free, Kind::device_sync};  // by StepKind

}  // namespace

std::vector<TraceItem> synthetic_trace(const Program& program) {
  std::vector<TraceItem> items;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    TraceItem item;
    item.kind = kItemKinds[static_cast<std::size_t>(step.kind)];
    item.step = static_cast<int>(i);
    item.stream = 1 + step.stream;
    item.event = step.event;
    item.name = step.name;
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace moediff
