// From the backend's records to the Run: trace items, memory blocks, where buffers lay.
#pragma once

#include <utility>
#include <vector>

#include "harness/run/issue.h"
#include "harness/run/run.h"
#include "kernels/abi/moediff_abi.h"

namespace moediff {

/// Trace and execution order without the items in the [begin, end) ranges `left_out`, renumbered.
void collect_trace(const md_host_control& host, const std::vector<std::pair<int, int>>& left_out, Run& run);
/// Blocks, and the block of every buffer: that of its Alloc step, or the one that holds its address.
void collect_blocks(const md_host_control& host, const Program& program, const DeviceState& state, Run& run);

/// The item that a step means, for a backend that keeps no trace. Block i is buffer i.
TraceItem declared_item(const Program& program, int step);
/// One block a buffer, in order.
void declare_blocks(const Program& program, Run& run);

}  // namespace moediff
