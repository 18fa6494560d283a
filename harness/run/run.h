// What a run of a Program leaves behind: its status, the runtime trace, the observed accesses, the captured tensors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/program/inputs.h"
#include "harness/program/program.h"
#include "harness/scenario/schedule.h"

namespace moediff {

/// Which code computes: "builtin", optionally with kernel variants "op=variant" (faults behind the provider interface).
struct ProviderSpec {
  std::string name = "builtin";
  std::string variants;  ///< "combine=alias1,gemm1=static_scratch"
  bool operator==(const ProviderSpec&) const = default;
};

/// One entry of the runtime's own trace, in issue order (seq = index). Everything that orders work or touches memory
/// appears, whoever issued it; `step` says on whose behalf.
struct TraceItem {
  enum class Kind : std::uint8_t {
    launch,
    copy,
    fill,
    record,
    wait,
    alloc,
    free,
    stream_sync,
    event_sync,
    device_sync,
    host_func
  };
  Kind kind = Kind::launch;
  int step = -1;  ///< index in Program::steps; -1: not on behalf of a step
  /// Runtime stream number: 0 = legacy null stream, 1 + i = Program stream i, above: made by a provider.
  int stream = 0;
  bool blocking = true;  ///< false: created non-blocking, exempt from the null stream's rules
  int event = -1;
  int block = -1;  ///< alloc, free: the memory block; copy, fill: destination
  std::int64_t offset = 0, bytes = 0;
  std::string name;  ///< kernel name
};

/// A block of device memory as the runtime handed it out. Pooled blocks are reused: several buffers in turn.
struct MemoryBlock {
  std::string label;  ///< buffer name, or "static data of <module>", or "allocated by <op>"
  std::int64_t bytes = 0;
  bool provider_owned = false;  ///< not a buffer of the Program
};

/// Bytes that one step was seen to touch, from the serialised observation pass. Page-exact, except `changed`
/// (byte-exact).
struct Touch {
  int block = -1;
  std::int64_t begin = 0, end = 0;
  enum class What : std::uint8_t { read, write, changed } what = What::read;
};
struct StepAccesses {
  int step = -1;
  std::vector<Touch> touches;
  /// A second run, with everything not declared as read complemented, gave the same outputs.
  bool repeated_bitwise = true;
  std::vector<int> depends_on;  ///< blocks whose undeclared content changed the outputs (value-dependence probe)
  std::string probe_note;  ///< what ended the process while the step was probed ("signal 11 …"); "" = nothing did
};

/// Where a buffer lay.
struct Placement {
  int block = -1;
  std::int64_t offset = 0;
};

/// Bytes of every operand of every call and copy, packed row-major: reads as they were when the step began, writes as
/// they were when it ended. Indexed [step][operand]; empty for steps that are neither.
struct Capture {
  std::vector<std::vector<std::vector<std::byte>>> operands;
};

enum class RunStatus : std::uint8_t { ok, crash, hang, out_of_bounds, provider_error, error };

struct Run {
  RunStatus status = RunStatus::ok;
  std::string detail;  ///< "signal 11 in step gemm1", the provider's message, …
  int failing_step = -1;
  std::vector<TraceItem> trace;
  std::vector<int> executed;  ///< seq numbers in execution order (deterministic policies)
  std::vector<MemoryBlock> blocks;
  std::vector<Placement> placement;  ///< by buffer
  Capture capture;
  bool observed = false;
  std::vector<StepAccesses> accesses;      ///< by step, when observed
  std::vector<std::string> red_zone_hits;  ///< "gemm1 wrote 4 bytes past gemm1_out"
};

struct RunRequest {
  const Program* program = nullptr;
  std::shared_ptr<const Inputs> inputs;
  ProviderSpec provider;
  Schedule schedule;
  bool observe = false;  ///< run the serialised observation pass instead of the schedule
  double timeout_seconds = 60;
};

}  // namespace moediff
