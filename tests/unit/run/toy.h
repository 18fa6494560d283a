// A Program of two ops for the tests: moe_out = 2 * routed + shared; layer_out = moe_out + hidden_states.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/run/executor.h"
#include "harness/run/run.h"

namespace moediff::toy {

inline constexpr int kTokens = 3, kHidden = 5;
enum StepNumber { kScaleAdd = 0, kResidualAdd = 1 };
enum BufferNumber { kHiddenStates = 0, kRouted, kShared, kMoeOut, kLayerOut, kClone };

/// One stream, two calls. moe_out has a row stride of 8 elements, all others are dense.
Program program();
/// The same with a copy of hidden_states to the pool on a second stream, joined by an event; residual_add reads the
/// copy, which is freed after it.
Program two_streams();
/// One shared_gemm1 from hidden_states to layer_out with a workspace of two floats, its last buffer.
Program with_workspace();
/// program(), and once more the residual from another clone: two pooled buffers, one after the other in the same
/// memory, of which the second is written with gaps.
Program reused_memory();
std::shared_ptr<const Inputs> inputs();
/// layer_out as computed here, packed.
std::vector<std::byte> expected_layer_out();
std::vector<std::byte> expected_moe_out();

/// A request for the fake provider in one of its variants.
RunRequest request(const Program& program, const std::string& variants = "");
/// Options for the fake modules, with this test program as the worker's command.
ExecutorOptions options(const std::string& backend = "fake");

}  // namespace moediff::toy
