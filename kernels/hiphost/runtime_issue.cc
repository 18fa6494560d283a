// Runtime: putting work into the log. Nothing is executed here, except what a blocking call has to wait for.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "kernels/hiphost/executing.h"
#include "kernels/hiphost/runtime.h"

namespace moediff::hiphost {
namespace {

constexpr unsigned kMaxGridYz = 65535;

const Status kNoStream{hipErrorInvalidHandle, "no such stream"};
const Status kNoEvent{hipErrorInvalidHandle, "no such event"};

bool reads_host(hipMemcpyKind kind, bool from_block) {
  return kind == hipMemcpyHostToDevice || kind == hipMemcpyHostToHost || (kind == hipMemcpyDefault && !from_block);
}
bool writes_host(hipMemcpyKind kind, bool to_block) {
  return kind == hipMemcpyDeviceToHost || kind == hipMemcpyHostToHost || (kind == hipMemcpyDefault && !to_block);
}

/// Row by row in user space, so that an observed page faults as it does for a kernel.
void copy_rows(const CopyShape& shape) {
  auto* to = static_cast<std::byte*>(shape.to);
  const auto* from = static_cast<const std::byte*>(shape.from);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::memmove(to + row * shape.to_stride, from + row * shape.from_stride, static_cast<std::size_t>(shape.row_bytes));
  }
}

/// First to last byte of a strided destination.
std::int64_t span(const CopyShape& shape) {
  if (shape.rows == 0 || shape.row_bytes == 0) return 0;
  return (shape.rows - 1) * shape.to_stride + shape.row_bytes;
}

/// The source as it is now.
std::shared_ptr<std::vector<std::byte>> staged(const CopyShape& shape) {
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(shape.rows * shape.row_bytes));
  CopyShape packed = shape;
  packed.to = bytes->data();
  packed.to_stride = shape.row_bytes;
  copy_rows(packed);
  return bytes;
}

/// "HIP_KERNEL_NAME(k<a, b>)" and "(k<a, b>)" are both k<a, b>.
std::string kernel_name(std::string text) {
  const std::string macro = "HIP_KERNEL_NAME";
  if (text.starts_with(macro)) text.erase(0, macro.size());
  while (text.size() > 1 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
  return text;
}

Status check_launch(const Launch& launch) {
  const auto threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  const bool empty_grid = launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0;
  const char* problem = threads == 0                                          ? "a block without threads"
                        : threads > kMaxBlockThreads                          ? "a block of more than 1024 threads"
                        : empty_grid                                          ? "a grid without blocks"
                        : std::max(launch.grid.y, launch.grid.z) > kMaxGridYz ? "a grid of more than 65535 along y or z"
                        : launch.shared_bytes > kSharedBytes ? "more than 64 KiB of dynamic shared memory"
                                                             : nullptr;
  if (problem == nullptr) return {};
  return {hipErrorInvalidConfiguration, fmt::format("launch of {}: {}", kernel_name(launch.text), problem)};
}

}  // namespace

Status Runtime::usable() const {
  if (executing.active) return {hipErrorIllegalState, "the runtime was called from inside an item that it executes"};
  const std::lock_guard lock(mutex_);
  return device_error_;
}

md_item Runtime::make_item(int kind, const Stream& stream, const void* destination, std::int64_t bytes) const {
  md_item item{};
  item.kind = kind;
  item.tag = tag_;
  item.stream = stream.number;
  item.blocking = stream.blocking ? 1 : 0;
  item.event = -1;
  item.block = -1;
  item.bytes = bytes;
  const Block* block = destination == nullptr ? nullptr : memory_.find(destination);
  if (block != nullptr) {
    item.block = block->number;
    item.offset = static_cast<const std::byte*>(destination) - block->address;
  }
  return item;
}

void Runtime::issue(Stream& stream, const md_item& item, const std::string& name, std::function<std::string()> action,
                    int also_needs) {
  std::vector<int> needs = streams_.needs(stream);
  needs.push_back(also_needs);
  stream.last = log_.add(item, name, std::move(needs), std::move(action));
}

Status Runtime::issue_copy(const CopyShape& shape, Stream& stream) {
  if (shape.rows < 0 || shape.row_bytes < 0) return {hipErrorInvalidValue, "copy of a negative size"};
  issue(stream, make_item(MD_ITEM_COPY, stream, shape.to, span(shape)), "", [shape] {
    copy_rows(shape);
    return std::string();
  });
  return {};
}

Status Runtime::copy_async(const CopyShape& shape, hipMemcpyKind kind, hipStream_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(handle);
  if (stream == nullptr) return kNoStream;
  if (shape.rows < 0 || shape.row_bytes < 0) return {hipErrorInvalidValue, "copy of a negative size"};
  if (!reads_host(kind, memory_.find(shape.from) != nullptr)) {
    if (Status status = issue_copy(shape, *stream); !status.ok()) return status;
  } else {
    CopyShape late = shape;
    late.from_stride = shape.row_bytes;
    issue(*stream, make_item(MD_ITEM_COPY, *stream, shape.to, span(shape)), "",
          [late, source = staged(shape)]() mutable {
            late.from = source->data();
            copy_rows(late);
            return std::string();
          });
  }
  return writes_host(kind, memory_.find(shape.to) != nullptr) ? wait_for(*stream) : Status{};
}

Status Runtime::copy(const CopyShape& shape) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream& null_stream = streams_.null_stream();
  if (Status status = issue_copy(shape, null_stream); !status.ok()) return status;
  return wait_for(null_stream);
}

Status Runtime::issue_fill(void* to, int value, std::int64_t bytes, Stream& stream) {
  if (bytes < 0) return {hipErrorInvalidValue, "fill of a negative size"};
  issue(stream, make_item(MD_ITEM_FILL, stream, to, bytes), "", [to, value, bytes] {
    std::memset(to, value, static_cast<std::size_t>(bytes));
    return std::string();
  });
  return {};
}

Status Runtime::fill_async(void* to, int value, std::int64_t bytes, hipStream_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(handle);
  return stream == nullptr ? kNoStream : issue_fill(to, value, bytes, *stream);
}

Status Runtime::fill(void* to, int value, std::int64_t bytes) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream& null_stream = streams_.null_stream();
  if (Status status = issue_fill(to, value, bytes, null_stream); !status.ok()) return status;
  return wait_for(null_stream);
}

Status Runtime::launch(const Launch& launch) {
  const std::shared_ptr<void> closure(launch.closure, launch.destroy);  // also when the launch is refused or dropped
  if (Status status = usable(); !status.ok()) return status;
  if (Status status = check_launch(launch); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(launch.stream);
  if (stream == nullptr) return kNoStream;
  issue(*stream, make_item(MD_ITEM_LAUNCH, *stream), kernel_name(launch.text),
        [this, launch, closure] { return runner_.run_kernel(launch); });
  return {};
}

Status Runtime::host_function(hipStream_t handle, hipHostFn_t function, void* user) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(handle);
  if (stream == nullptr) return kNoStream;
  if (function == nullptr) return {hipErrorInvalidValue, "no host function"};
  issue(*stream, make_item(MD_ITEM_HOST_FUNC, *stream), "", [function, user] {
    function(user);
    return std::string();
  });
  return {};
}

Status Runtime::record(hipEvent_t event_handle, hipStream_t stream_handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(stream_handle);
  Event* event = streams_.find(event_handle);
  if (stream == nullptr || event == nullptr) return stream == nullptr ? kNoStream : kNoEvent;
  md_item item = make_item(MD_ITEM_RECORD, *stream);
  item.event = event->number;
  issue(*stream, item, "", nullptr);
  event->record = stream->last;
  return {};
}

Status Runtime::wait(hipStream_t stream_handle, hipEvent_t event_handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(stream_handle);
  Event* event = streams_.find(event_handle);
  if (stream == nullptr || event == nullptr) return stream == nullptr ? kNoStream : kNoEvent;
  md_item item = make_item(MD_ITEM_WAIT, *stream);
  item.event = event->number;
  issue(*stream, item, "", nullptr, event->record);  // never recorded: nothing to wait for
  return {};
}

}  // namespace moediff::hiphost
