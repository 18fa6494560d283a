// From a Program to calls of a backend and a provider: memory, streams and events of a run, and one step at a time.
#pragma once

#include <vector>

#include "harness/run/run.h"
#include "kernels/abi/moediff_abi.h"

namespace moediff {

/// What a Program's buffers, streams and events became on the device.
struct DeviceState {
  std::vector<std::byte*> base;  ///< by buffer; nullptr while a pooled buffer is not allocated
  std::vector<md_stream> streams;
  std::vector<md_event> events;
};

/// Allocates the buffers that live for the whole run, in their order, fills them from the inputs, and makes streams
/// (non-blocking) and events. Those that `state` has already are kept (a GPU backend has no call to destroy them).
/// Throws RunFailure.
void prepare(const md_backend& backend, const Program& program, const Inputs& inputs, DeviceState& state);

/// Issues one step. Throws RunFailure: provider_error with the provider's text, or error with the backend's.
void issue(const md_backend& backend, const md_provider& provider, const Program& program, int step,
           DeviceState& state);

/// Throws RunFailure(error) with the backend's text when `code` is not 0.
void require(const md_backend& backend, int code, const char* what, int step = -1);

/// The operand as the provider sees it. `base`: the buffer's first byte.
md_tensor tensor_of(const Operand& operand, std::byte* base);

}  // namespace moediff
