// Runtime: streams, events, and the waits of the host that make the scheduler execute.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/hiphost/block_executor.h"
#include "kernels/hiphost/executing.h"
#include "kernels/hiphost/runtime.h"

namespace moediff::hiphost {
namespace {

const Status kNoStream{hipErrorInvalidHandle, "no such stream"};
const Status kNoEvent{hipErrorInvalidHandle, "no such event"};

}  // namespace

Status Runtime::drain(const std::vector<int>& roots, int limit) {
  const std::vector<int> wanted = log_.closure(roots);
  if (wanted.empty()) return {};
  const SignalStack signal_stack;
  install_fault_handler(faults_);  // again: somebody may have put theirs in its place
  const std::string error = scheduler_.drain(
      log_, wanted, [this](int seq) { return runner_.run(seq); }, limit);
  const bool deadlock = error.find(fmt::format(": {}", BlockExecutor::kDeadlock)) != std::string::npos;
  if (!error.empty()) device_error_ = {deadlock ? hipErrorLaunchTimeOut : hipErrorLaunchFailure, error};
  return device_error_;
}

Status Runtime::wait_for(const Stream& stream) {
  const Status status = drain(streams_.newest(stream));
  log_.add_wait(make_item(MD_ITEM_STREAM_SYNC, stream));
  return status;
}

Status Runtime::synchronize_device_unlocked() {
  const Status status = device_error_.ok() ? drain(log_.undone()) : device_error_;
  md_item item = make_item(MD_ITEM_DEVICE_SYNC, streams_.null_stream());
  log_.add_wait(item);
  return status;
}

/// A device makes progress while it is polled: each "not ready" executes one item more.
Status Runtime::query(const std::vector<int>& roots, const md_item& wait) {
  if (log_.closure(roots).empty()) {
    log_.add_wait(wait);
    return {};
  }
  const Status status = drain(roots, 1);
  return status.ok() ? Status{hipErrorNotReady, ""} : status;
}

Status Runtime::synchronize_device() {
  if (executing.active) return usable();
  const std::lock_guard lock(mutex_);
  return synchronize_device_unlocked();
}

Status Runtime::create_stream(hipStream_t* stream, bool blocking) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  *stream = &streams_.create_stream(blocking);
  return {};
}

Status Runtime::destroy_stream(hipStream_t handle) {
  if (executing.active) return usable();
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(handle);
  if (stream == nullptr || stream->number == 0) return kNoStream;
  streams_.destroy(*stream);
  return {};
}

Status Runtime::synchronize_stream(hipStream_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const Stream* stream = streams_.find(handle);
  return stream == nullptr ? kNoStream : wait_for(*stream);
}

Status Runtime::query_stream(hipStream_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const Stream* stream = streams_.find(handle);
  return stream == nullptr ? kNoStream : query(streams_.newest(*stream), make_item(MD_ITEM_STREAM_SYNC, *stream));
}

Status Runtime::create_event(hipEvent_t* event) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  *event = &streams_.create_event();
  return {};
}

Status Runtime::destroy_event(hipEvent_t handle) {
  if (executing.active) return usable();
  const std::lock_guard lock(mutex_);
  Event* event = streams_.find(handle);
  if (event == nullptr) return kNoEvent;
  streams_.destroy(*event);
  return {};
}

Status Runtime::synchronize_event(hipEvent_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const Event* event = streams_.find(handle);
  if (event == nullptr) return kNoEvent;
  const Status status = drain({event->record});
  log_.add_wait(make_event_wait(*event));
  return status;
}

Status Runtime::query_event(hipEvent_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const Event* event = streams_.find(handle);
  return event == nullptr ? kNoEvent : query({event->record}, make_event_wait(*event));
}

md_item Runtime::make_event_wait(const Event& event) {
  md_item item = make_item(MD_ITEM_EVENT_SYNC, streams_.null_stream());
  item.event = event.number;
  return item;
}

Status Runtime::elapsed(float* milliseconds, hipEvent_t start_handle, hipEvent_t stop_handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const Event* start = streams_.find(start_handle);
  const Event* stop = streams_.find(stop_handle);
  if (start == nullptr || stop == nullptr || start->record < 0 || stop->record < 0) return kNoEvent;
  const Work &first = log_.work(start->record), &last = log_.work(stop->record);
  if (!first.done || !last.done) return {hipErrorNotReady, ""};
  *milliseconds = std::chrono::duration<float, std::milli>(last.finished - first.finished).count();
  return {};
}

}  // namespace moediff::hiphost
