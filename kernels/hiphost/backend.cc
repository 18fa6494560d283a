// The backend module `host`: md_backend and md_host_control over the runtime.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "kernels/abi/moediff_abi.h"
#include "kernels/hiphost/device_info.h"
#include "kernels/hiphost/runtime.h"

namespace {

using moediff::hiphost::Purpose;
using moediff::hiphost::Runtime;
using moediff::hiphost::Status;

thread_local std::string last_error_text;

int report(const Status& status) {
  if (status.ok()) return 0;
  const char* name = hipGetErrorName(status.code);
  last_error_text = status.text.empty() ? hipGetErrorString(status.code) : status.text;
  last_error_text += std::string(" (") + name + ")";
  return status.code;
}

hipStream_t stream_of(md_stream stream) { return static_cast<hipStream_t>(stream); }
hipEvent_t event_of(md_event event) { return static_cast<hipEvent_t>(event); }

Status known_kind(int32_t kind) {
  if (kind >= MD_MEMORY_VALUE && kind <= MD_MEMORY_WORKSPACE) return {};
  return {hipErrorInvalidValue, "unknown kind of memory"};
}
Purpose purpose_of(int32_t kind, const char* label) {
  return {static_cast<md_memory_kind>(kind), label != nullptr ? label : "", false};
}

// ---------------------------------------------------------------------------------------------- md_backend

int device_count() { return 1; }

int device_name(int device, char* text, size_t size) {
  if (device != 0) return report({hipErrorInvalidDevice, "the host backend has device 0 only"});
  std::snprintf(text, size, "%s", moediff::hiphost::device_properties().name);
  return 0;
}

int set_device(int device) {
  return device == 0 ? 0 : report({hipErrorInvalidDevice, "the host backend has device 0 only"});
}

int allocate(void** pointer, int64_t bytes, int32_t kind, const char* label) {
  if (Status status = known_kind(kind); !status.ok()) return report(status);
  return report(Runtime::get().allocate(pointer, bytes, purpose_of(kind, label)));
}
int free_memory(void* pointer) { return report(Runtime::get().free(pointer)); }

int copy_in(void* device, const void* host, int64_t bytes) {
  return report(Runtime::get().copy_now(device, host, bytes));
}
int copy_out(void* host, const void* device, int64_t bytes) {
  return report(Runtime::get().copy_now(host, device, bytes));
}

int stream_create(md_stream* stream, int non_blocking) {
  hipStream_t made = nullptr;
  const Status status = Runtime::get().create_stream(&made, non_blocking == 0);
  *stream = made;
  return report(status);
}
int event_create(md_event* event) {
  hipEvent_t made = nullptr;
  const Status status = Runtime::get().create_event(&made);
  *event = made;
  return report(status);
}
int event_record(md_event event, md_stream stream) {
  return report(Runtime::get().record(event_of(event), stream_of(stream)));
}
int stream_wait(md_stream stream, md_event event) {
  return report(Runtime::get().wait(stream_of(stream), event_of(event)));
}

int allocate_async(void** pointer, int64_t bytes, int32_t kind, const char* label, md_stream stream) {
  if (Status status = known_kind(kind); !status.ok()) return report(status);
  return report(Runtime::get().allocate_async(pointer, bytes, purpose_of(kind, label), stream_of(stream)));
}
int free_async(void* pointer, md_stream stream) {
  return report(Runtime::get().free_async(pointer, stream_of(stream)));
}

int copy_async(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t row_bytes, int64_t rows,
               md_stream stream) {
  return report(Runtime::get().copy_async({to, to_stride, from, from_stride, row_bytes, rows}, hipMemcpyDeviceToDevice,
                                          stream_of(stream)));
}
int fill_async(void* to, int value, int64_t bytes, md_stream stream) {
  return report(Runtime::get().fill_async(to, value, bytes, stream_of(stream)));
}
int device_synchronize() { return report(Runtime::get().synchronize_device()); }
const char* last_error() { return last_error_text.c_str(); }

// ---------------------------------------------------------------------------------------------- md_host_control

int set_schedule(int32_t policy, uint64_t seed, const int32_t* order, int32_t order_count, int32_t reuse_memory) {
  std::vector<int> items(order, order + (order != nullptr ? order_count : 0));
  return report(Runtime::get().set_schedule(policy, seed, std::move(items), reuse_memory != 0));
}
void set_tag(int32_t tag) { Runtime::get().set_tag(tag); }
void set_hooks(md_tag_hook tag_hook, md_fault_hook fault_hook, void* user) {
  Runtime::get().set_hooks(tag_hook, fault_hook, user);
}

/// Hands out a vector that the runtime keeps.
template <class T>
int32_t hand_out(const std::vector<T>& vector, const T** data) {
  *data = vector.data();
  return static_cast<int32_t>(vector.size());
}
int32_t trace(const md_item** items) { return hand_out(Runtime::get().trace(), items); }
int32_t executed(const int32_t** order) { return hand_out(Runtime::get().executed(), order); }
int32_t blocks(const md_block** list) { return hand_out(Runtime::get().blocks(), list); }

int watch_library(const void* symbol, const char* label) { return report(Runtime::get().watch_library(symbol, label)); }
int observe_begin() { return report(Runtime::get().observe_begin()); }
int32_t observe_end(const md_touch** touches) {
  const std::vector<md_touch>* seen = nullptr;
  return report(Runtime::get().observe_end(&seen)) == 0 ? hand_out(*seen, touches) : -1;
}
const char* check_red_zones() { return Runtime::get().check_red_zones().c_str(); }
void reset() { Runtime::get().reset(); }

constexpr md_host_control kControl{set_schedule,  set_tag,       set_hooks,   trace,           executed, blocks,
                                   watch_library, observe_begin, observe_end, check_red_zones, reset};

constexpr md_backend kBackend{MOEDIFF_ABI_VERSION,
                              "host",
                              moediff::hiphost::kRuntimeName,
                              device_count,
                              device_name,
                              set_device,
                              allocate,
                              free_memory,
                              copy_in,
                              copy_out,
                              stream_create,
                              event_create,
                              event_record,
                              stream_wait,
                              allocate_async,
                              free_async,
                              copy_async,
                              fill_async,
                              device_synchronize,
                              last_error,
                              &kControl};

}  // namespace

const md_backend* moediff_backend(uint32_t abi_version) {
  return abi_version == MOEDIFF_ABI_VERSION ? &kBackend : nullptr;
}
