// Captures the bytes of every operand: reads as they are when a step begins on the device, writes as they are when it
// ends. On the host backend by its tag hooks, on the thread that executes; elsewhere by copies ordered on the stream.
#pragma once

#include <vector>

#include "harness/run/issue.h"
#include "harness/run/run.h"
#include "kernels/abi/moediff_abi.h"

namespace moediff {

/// Operands of a call or copy that are captured when it begins (read, and not scratch), and when it ends (written).
std::vector<int> captured_at_begin(const Step& step);
std::vector<int> captured_at_end(const Step& step);

/// Weights cannot change on a backend that protects them, so their bytes are not copied: the caller fills them in from
/// the inputs after the run (and after the way back from a worker). Bytes that are there are kept.
void fill_weights(const Program& program, const Inputs& inputs, Capture& capture);

/// For backends whose memory the host can read. Different steps may be captured by different threads.
class HostCapture {
 public:
  explicit HostCapture(const Program& program);
  /// Remembers where the operands of a step lie: call when it was issued (or is about to be, its pool memory known).
  void bind(int step, const DeviceState& state);
  void begin(int step);
  void end(int step);
  /// A step that put no work on the device never began: its operands are taken as they are now, poison where the
  /// memory went back to the pool. The device must be idle.
  Capture finish();

 private:
  void take(int step, const std::vector<int>& operands);

  const Program* program_;
  Capture capture_;
  std::vector<std::vector<const std::byte*>> base_;  ///< by step and operand
  std::vector<char> begun_, ended_;
};

/// For backends whose memory the host cannot read: copies into staging memory, before and after each step.
class StreamCapture {
 public:
  StreamCapture(const md_backend& backend, const Program& program);
  /// Issue these round the step.
  void before(int step, const DeviceState& state);
  void after(int step, const DeviceState& state);
  /// Brings the bytes to the host and frees the staging memory. The device must be idle.
  Capture finish();

 private:
  void stage(int step, const std::vector<int>& operands, const DeviceState& state);

  struct Staged {
    int step, operand;
    void* memory;
    std::int64_t bytes;
  };
  const md_backend* backend_;
  const Program* program_;
  std::vector<Staged> staged_;
};

}  // namespace moediff
