// The rocm backend: memory, streams and events of the real HIP runtime behind the C interface. A GPU's accesses cannot
// be watched page by page, so there is no host control; fresh memory is poisoned with 0xFF, a NaN in every float
// format.
#include <cstdio>

#include "kernels/abi/moediff_abi.h"
#include "kernels/hip/hip_check.h"

namespace moediff::kernels {
namespace {

constexpr int kPoison = 0xFF;

/// HIP refuses to fill or copy nothing on some versions.
bool nothing(std::int64_t bytes) { return bytes <= 0; }

std::size_t size_of(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

/// 0 without a device, or without a driver: then last_error says why.
int device_count() {
  int count = 0;
  if (const hipError_t error = hipGetDeviceCount(&count); error != hipSuccess) {
    fail_hip("hipGetDeviceCount", error);
    return 0;
  }
  return count;
}

int device_name(int device, char* text, std::size_t size) {
  hipDeviceProp_t properties;
  HIP_CHECK(hipGetDeviceProperties(&properties, device));
  std::snprintf(text, size, "%s (%s)", properties.name, properties.gcnArchName);
  return 0;
}

int set_device(int device) {
  HIP_CHECK(hipSetDevice(device));
  return 0;
}

int allocate(void** pointer, std::int64_t bytes, int32_t, const char*) {
  HIP_CHECK(hipMalloc(pointer, size_of(nothing(bytes) ? 1 : bytes)));
  HIP_CHECK(hipMemset(*pointer, kPoison, size_of(nothing(bytes) ? 1 : bytes)));
  return 0;
}

int free_memory(void* pointer) {
  HIP_CHECK(hipFree(pointer));
  return 0;
}

int copy_in(void* device, const void* host, std::int64_t bytes) {
  if (nothing(bytes)) return 0;
  HIP_CHECK(hipMemcpy(device, host, size_of(bytes), hipMemcpyHostToDevice));
  return 0;
}

int copy_out(void* host, const void* device, std::int64_t bytes) {
  if (nothing(bytes)) return 0;
  HIP_CHECK(hipMemcpy(host, device, size_of(bytes), hipMemcpyDeviceToHost));
  return 0;
}

int stream_create(md_stream* stream, int non_blocking) {
  hipStream_t created = nullptr;
  HIP_CHECK(hipStreamCreateWithFlags(&created, non_blocking != 0 ? hipStreamNonBlocking : hipStreamDefault));
  *stream = created;
  return 0;
}

int event_create(md_event* event) {
  hipEvent_t created = nullptr;
  HIP_CHECK(hipEventCreateWithFlags(&created, hipEventDisableTiming));
  *event = created;
  return 0;
}

int event_record(md_event event, md_stream stream) {
  HIP_CHECK(hipEventRecord(static_cast<hipEvent_t>(event), static_cast<hipStream_t>(stream)));
  return 0;
}

int stream_wait(md_stream stream, md_event event) {
  HIP_CHECK(hipStreamWaitEvent(static_cast<hipStream_t>(stream), static_cast<hipEvent_t>(event), 0));
  return 0;
}

int allocate_async(void** pointer, std::int64_t bytes, int32_t, const char*, md_stream stream) {
  const std::size_t size = size_of(nothing(bytes) ? 1 : bytes);
  HIP_CHECK(hipMallocAsync(pointer, size, static_cast<hipStream_t>(stream)));
  HIP_CHECK(hipMemsetAsync(*pointer, kPoison, size, static_cast<hipStream_t>(stream)));
  return 0;
}

int free_async(void* pointer, md_stream stream) {
  HIP_CHECK(hipFreeAsync(pointer, static_cast<hipStream_t>(stream)));
  return 0;
}

/// One row at a time when the rows overlap or repeat, which HIP's two-dimensional copy rejects.
int copy_async(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride, std::int64_t row_bytes,
               std::int64_t rows, md_stream stream) {
  if (nothing(row_bytes) || nothing(rows)) return 0;
  const auto on = static_cast<hipStream_t>(stream);
  if (to_stride >= row_bytes && from_stride >= row_bytes) {
    HIP_CHECK(hipMemcpy2DAsync(to, size_of(to_stride), from, size_of(from_stride), size_of(row_bytes), size_of(rows),
                               hipMemcpyDeviceToDevice, on));
    return 0;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    HIP_CHECK(hipMemcpyAsync(static_cast<char*>(to) + r * to_stride, static_cast<const char*>(from) + r * from_stride,
                             size_of(row_bytes), hipMemcpyDeviceToDevice, on));
  }
  return 0;
}

int fill_async(void* to, int value, std::int64_t bytes, md_stream stream) {
  if (nothing(bytes)) return 0;
  HIP_CHECK(hipMemsetAsync(to, value, size_of(bytes), static_cast<hipStream_t>(stream)));
  return 0;
}

int device_synchronize() {
  HIP_CHECK(hipDeviceSynchronize());
  return 0;
}

const char* last_error() { return error_text().c_str(); }

/// "HIP 5.2.21153", of the library that was loaded; the headers' version when there is no driver to ask.
const char* runtime_name() {
  static char text[64];
  int version = 0;
  if (hipRuntimeGetVersion(&version) != hipSuccess || version <= 0) version = HIP_VERSION;
  std::snprintf(text, sizeof(text), "HIP %d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
  return text;
}

}  // namespace
}  // namespace moediff::kernels

extern "C" __attribute__((visibility("default"))) const md_backend* moediff_backend(uint32_t abi_version) {
  using namespace moediff::kernels;
  static const md_backend backend = {
      MOEDIFF_ABI_VERSION, "rocm",     runtime_name(), device_count,  device_name,        set_device,   allocate,
      free_memory,         copy_in,    copy_out,       stream_create, event_create,       event_record, stream_wait,
      allocate_async,      free_async, copy_async,     fill_async,    device_synchronize, last_error,   nullptr};
  return abi_version == MOEDIFF_ABI_VERSION ? &backend : nullptr;
}
