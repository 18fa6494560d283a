// The hip* functions: thin wrappers of Runtime that keep the calling thread's last error.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "kernels/hiphost/device_info.h"
#include "kernels/hiphost/runtime.h"

using moediff::hiphost::Purpose;
using moediff::hiphost::Runtime;
using moediff::hiphost::Status;

namespace {

thread_local hipError_t last_error = hipSuccess;

hipError_t keep(const Status& status) {
  // "Not ready" is an answer.
  if (!status.ok() && status.code != hipErrorNotReady) last_error = status.code;
  return status.code;
}

Status check(bool good, hipError_t error) { return {good ? hipSuccess : error, ""}; }

struct ErrorName {
  hipError_t code;
  const char* name;
  const char* text;
};
constexpr std::array kErrors{
    ErrorName{hipSuccess, "hipSuccess", "no error"},
    ErrorName{hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    ErrorName{hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    ErrorName{hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    ErrorName{hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    ErrorName{hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    ErrorName{hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    ErrorName{hipErrorIllegalState, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
    ErrorName{hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    ErrorName{hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut", "the launch cannot end"},
    ErrorName{hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    ErrorName{hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    ErrorName{hipErrorUnknown, "hipErrorUnknown", "unknown error"},
};

const ErrorName& entry(hipError_t error) {
  const auto found =
      std::find_if(kErrors.begin(), kErrors.end(), [error](const ErrorName& e) { return e.code == error; });
  return found == kErrors.end() ? kErrors.back() : *found;
}

moediff::hiphost::CopyShape flat(void* to, const void* from, std::size_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  return {to, size, from, size, size, 1};
}

}  // namespace

namespace moediff::hiphost {

void enqueue(const Launch& launch) { keep(Runtime::get().launch(launch)); }

}  // namespace moediff::hiphost

hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }
hipError_t hipPeekAtLastError() { return last_error; }
const char* hipGetErrorString(hipError_t error) { return entry(error).text; }
const char* hipGetErrorName(hipError_t error) { return entry(error).name; }

hipError_t hipGetDeviceCount(int* count) {
  *count = 1;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int device) { return keep(check(device == 0, hipErrorInvalidDevice)); }
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (device != 0) return keep({hipErrorInvalidDevice, ""});
  *properties = moediff::hiphost::device_properties();
  return hipSuccess;
}
hipError_t hipDeviceSynchronize() { return keep(Runtime::get().synchronize_device()); }

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  return keep(Runtime::get().allocate(pointer, static_cast<std::int64_t>(bytes), Purpose{}));
}
hipError_t hipFree(void* pointer) { return keep(Runtime::get().free(pointer)); }
hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t stream) {
  return keep(Runtime::get().allocate_async(pointer, static_cast<std::int64_t>(bytes), Purpose{}, stream));
}
hipError_t hipFreeAsync(void* pointer, hipStream_t stream) { return keep(Runtime::get().free_async(pointer, stream)); }

hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
  return keep(Runtime::get().copy(flat(to, from, bytes)));
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return keep(Runtime::get().copy_async(flat(to, from, bytes), kind, stream));
}
hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                            std::size_t height, hipMemcpyKind kind, hipStream_t stream) {
  if (width > to_pitch || width > from_pitch) return keep({hipErrorInvalidValue, "width above pitch"});
  const auto wide = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  return keep(
      Runtime::get().copy_async({to, wide(to_pitch), from, wide(from_pitch), wide(width), wide(height)}, kind, stream));
}
hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  return keep(Runtime::get().fill(to, value, static_cast<std::int64_t>(bytes)));
}
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
  return keep(Runtime::get().fill_async(to, value, static_cast<std::int64_t>(bytes), stream));
}

hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  if (flags != hipStreamDefault && flags != hipStreamNonBlocking) return keep({hipErrorInvalidValue, ""});
  return keep(Runtime::get().create_stream(stream, flags == hipStreamDefault));
}
hipError_t hipStreamDestroy(hipStream_t stream) { return keep(Runtime::get().destroy_stream(stream)); }
hipError_t hipStreamSynchronize(hipStream_t stream) { return keep(Runtime::get().synchronize_stream(stream)); }
hipError_t hipStreamQuery(hipStream_t stream) { return keep(Runtime::get().query_stream(stream)); }
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  if (flags != 0) return keep({hipErrorInvalidValue, ""});
  return keep(Runtime::get().wait(stream, event));
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  if (flags != hipEventDefault && flags != hipEventDisableTiming) return keep({hipErrorInvalidValue, ""});
  return keep(Runtime::get().create_event(event));
}
hipError_t hipEventDestroy(hipEvent_t event) { return keep(Runtime::get().destroy_event(event)); }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) { return keep(Runtime::get().record(event, stream)); }
hipError_t hipEventQuery(hipEvent_t event) { return keep(Runtime::get().query_event(event)); }
hipError_t hipEventSynchronize(hipEvent_t event) { return keep(Runtime::get().synchronize_event(event)); }
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return keep(Runtime::get().elapsed(milliseconds, start, stop));
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user) {
  return keep(Runtime::get().host_function(stream, function, user));
}
