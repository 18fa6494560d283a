// A small MoE layer for the tests with the real modules: host backend and builtin provider.
#pragma once

#include <memory>
#include <string>

#include "harness/program/build.h"
#include "harness/program/inputs.h"
#include "harness/run/executor.h"

namespace moediff::host_layer {

/// One shared expert beside the routed ones, f32; on a second stream when `stream` is aux.
Case small_case(StreamMode stream, std::int64_t tokens = 5);
ExecutorOptions options();
RunRequest request(const Case& spec, const Program& program, const std::string& variants = "");
/// The step with this name, -1 for "". CHECKs that there is one.
int step_of(const Program& program, const std::string& name);
int buffer_of(const Program& program, const std::string& name);

}  // namespace moediff::host_layer
