// One run on a backend: clean device, schedule, hooks and memory at the start; trace, blocks, placement and captures at
// the end. Shared by the scheduled run and the observation pass.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/run/capture.h"
#include "harness/run/issue.h"
#include "harness/run/module.h"
#include "harness/run/status_page.h"

namespace moediff {

class RunSession {
 public:
  /// Resets the device, sets the schedule and the hooks, allocates and fills the buffers. Throws RunFailure.
  RunSession(Modules& modules, const md_provider& provider, const RunRequest& request, const Inputs& inputs,
             StatusPage& page);
  ~RunSession();  ///< leaves an empty device
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;

  /// Issues one step under its tag. Throws RunFailure.
  void issue_step(int step);
  /// Throws RunFailure when the device reports an error: a step's own, or else the running one's.
  void synchronize(int step = -1);
  /// Captures a step by hand, for the observation pass: there a hook's reads would be observed as the step's.
  void capture_begin(int step);
  void capture_end(int step) { capture_.end(step); }
  /// Red zones damaged since the last call go to the run's list, blamed on `step` (-1: unknown).
  void check_red_zones(int step);
  /// Runtime items [begin, end) are left out of the trace: they belong to a probe.
  void leave_out(int begin, int end) { left_out_.emplace_back(begin, end); }
  const std::vector<std::string>& red_zone_hits() const { return red_zone_hits_; }
  /// The device must be idle. Adds trace, execution order, blocks, placement, red zones and captures.
  void collect(Run& run);

  const md_backend& backend() const { return backend_; }
  const md_host_control* host() const { return backend_.host; }
  const Program& program() const { return program_; }
  const DeviceState& state() const { return state_; }
  StatusPage& page() { return page_; }

 private:
  static void on_tag(void* user, std::int32_t tag, std::int32_t begin);
  static void on_fault(void* user, std::int32_t tag, const char* kernel, const char* label, std::int64_t distance,
                       std::int32_t is_write);
  int last_executed() const;
  void start_host(const Schedule& schedule);
  void note_kernels(int step, int first_item);
  void free_device_memory();

  Modules& modules_;
  const md_backend& backend_;
  const md_provider& provider_;
  const Program& program_;
  StatusPage& page_;
  DeviceState state_;
  HostCapture capture_;
  StreamCapture stream_capture_;
  std::vector<TraceItem> declared_;   ///< the trace of a backend that keeps none
  std::vector<std::string> kernels_;  ///< by step
  std::vector<std::string> red_zone_hits_;
  std::vector<std::pair<int, int>> left_out_;
  bool hooks_capture_;
  bool serial_ = true;  ///< one item at a time: the page can name the running kernel
  bool given_order_ = false;
};

}  // namespace moediff
