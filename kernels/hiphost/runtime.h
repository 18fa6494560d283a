// The one state object of the runtime: what hip_api.cc and backend.cc are thin wrappers of.
//
// Issuing only appends to the log; a host wait hands the items it needs to the scheduler. All methods may be called by
// any thread; none may be called by a host function or hook that the runtime itself is executing, except copy_now and,
// under the sequential policies, check_red_zones.
#pragma once

#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/hiphost/fault.h"
#include "kernels/hiphost/memory.h"
#include "kernels/hiphost/observe.h"
#include "kernels/hiphost/pool.h"
#include "kernels/hiphost/runner.h"
#include "kernels/hiphost/scheduler.h"
#include "kernels/hiphost/stream.h"
#include "kernels/hiphost/work_log.h"

namespace moediff::hiphost {

struct Status {
  hipError_t code = hipSuccess;
  std::string text;  ///< "" = the code says it all
  bool ok() const { return code == hipSuccess; }
};

/// `rows` runs of `row_bytes`, strides in bytes.
struct CopyShape {
  void* to = nullptr;
  std::int64_t to_stride = 0;
  const void* from = nullptr;
  std::int64_t from_stride = 0, row_bytes = 0, rows = 1;
};

/// Who allocates, and what for.
struct Purpose {
  md_memory_kind kind = MD_MEMORY_WORKSPACE;
  std::string label;  ///< "": "allocated by step <tag>" or "allocated by provider"
  bool provider_owned = true;
};

class Runtime {
 public:
  static Runtime& get();

  // Memory (runtime_memory.cc).
  Status allocate(void** pointer, std::int64_t bytes, const Purpose& purpose);
  Status free(void* pointer);
  Status allocate_async(void** pointer, std::int64_t bytes, const Purpose& purpose, hipStream_t stream);
  Status free_async(void* pointer, hipStream_t stream);
  /// After the pending work that a copy on the null stream waits for; not in the trace. Weights are read-only
  /// afterwards. Inside a hook: at once.
  Status copy_now(void* to, const void* from, std::int64_t bytes);

  // Work (runtime_issue.cc).
  Status copy_async(const CopyShape& shape, hipMemcpyKind kind, hipStream_t stream);
  Status copy(const CopyShape& shape);
  Status fill_async(void* to, int value, std::int64_t bytes, hipStream_t stream);
  Status fill(void* to, int value, std::int64_t bytes);
  Status launch(const Launch& launch);
  Status host_function(hipStream_t stream, hipHostFn_t function, void* user);
  Status record(hipEvent_t event, hipStream_t stream);
  Status wait(hipStream_t stream, hipEvent_t event);

  // Streams, events, waits of the host (runtime_sync.cc).
  Status create_stream(hipStream_t* stream, bool blocking);
  Status destroy_stream(hipStream_t stream);
  Status synchronize_stream(hipStream_t stream);
  Status query_stream(hipStream_t stream);
  Status create_event(hipEvent_t* event);
  Status destroy_event(hipEvent_t event);
  Status synchronize_event(hipEvent_t event);
  Status query_event(hipEvent_t event);
  Status elapsed(float* milliseconds, hipEvent_t start, hipEvent_t stop);
  Status synchronize_device();

  // The harness's control (runtime_control.cc): see md_host_control.
  Status set_schedule(int policy, std::uint64_t seed, std::vector<int> order, bool reuse_memory);
  void set_tag(int tag);
  void set_hooks(md_tag_hook tag_hook, md_fault_hook fault_hook, void* user);
  const std::vector<md_item>& trace() const { return log_.items(); }
  const std::vector<int>& executed() const { return runner_.executed(); }
  const std::vector<md_block>& blocks();
  Status watch_library(const void* symbol, const std::string& label);
  /// What was issued and not yet executed may wait: only accesses of items executed in between are noted.
  Status observe_begin();
  Status observe_end(const std::vector<md_touch>** touches);
  const std::string& check_red_zones();
  void reset();

 private:
  Runtime();

  static constexpr int kAll = std::numeric_limits<int>::max();

  /// Is this call allowed now? Not from inside an item; not after a device error.
  Status usable() const;
  md_item make_item(int kind, const Stream& stream, const void* destination = nullptr, std::int64_t bytes = 0) const;
  md_item make_event_wait(const Event& event);
  void issue(Stream& stream, const md_item& item, const std::string& name, std::function<std::string()> action,
             int also_needs = -1);
  Status issue_copy(const CopyShape& shape, Stream& stream);
  Status issue_fill(void* to, int value, std::int64_t bytes, Stream& stream);
  Status drain(const std::vector<int>& roots, int limit = kAll);
  /// Waits for the stream and puts the wait into the trace.
  Status wait_for(const Stream& stream);
  Status query(const std::vector<int>& roots, const md_item& wait);
  Status synchronize_device_unlocked();
  std::string label_of(const Purpose& purpose) const;

  mutable std::mutex mutex_;
  WorkLog log_;
  StreamTable streams_;
  Memory memory_;
  Pool pool_{memory_};
  Observer observer_{memory_};
  Scheduler scheduler_;
  Runner runner_{log_};
  FaultContext faults_;
  int tag_ = -1;
  Status device_error_;  ///< sticky until reset
  // What the last call of its kind returned a pointer to.
  std::vector<md_block> block_list_;
  std::vector<md_touch> touches_;
  std::string red_zone_text_;
};

}  // namespace moediff::hiphost
