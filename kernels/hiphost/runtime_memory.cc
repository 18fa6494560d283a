// Runtime: allocation, the pool's stream-ordered side, immediate copies.
#include <fmt/format.h>

#include <cstring>

#include "kernels/hiphost/executing.h"
#include "kernels/hiphost/runtime.h"

namespace moediff::hiphost {
namespace {

Status not_a_block(const void* pointer) {
  return {hipErrorInvalidDevicePointer, fmt::format("{} is not the start of a living block", pointer)};
}

}  // namespace

std::string Runtime::label_of(const Purpose& purpose) const {
  if (!purpose.label.empty()) return purpose.label;
  return tag_ >= 0 ? fmt::format("allocated by step {}", tag_) : "allocated by provider";
}

Status Runtime::allocate(void** pointer, std::int64_t bytes, const Purpose& purpose) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (pointer == nullptr || bytes < 0) return {hipErrorInvalidValue, "allocation of a negative size"};
  Block* block = memory_.create(bytes, bytes, purpose.kind, label_of(purpose), purpose.provider_owned);
  if (block == nullptr) return {hipErrorOutOfMemory, fmt::format("no memory for {} bytes", bytes)};
  observer_.add(*block);
  *pointer = block->address;
  return {};
}

Status Runtime::free(void* pointer) {
  if (executing.active) return usable();
  const std::lock_guard lock(mutex_);
  if (pointer == nullptr) return {};
  Block* block = memory_.find(pointer);
  if (block == nullptr || block->address != pointer || block->pooled) return not_a_block(pointer);
  const Status status = synchronize_device_unlocked();
  memory_.free(*block);
  return status;
}

Status Runtime::allocate_async(void** pointer, std::int64_t bytes, const Purpose& purpose, hipStream_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(handle);
  if (stream == nullptr) return {hipErrorInvalidHandle, "no such stream"};
  if (pointer == nullptr || bytes < 0) return {hipErrorInvalidValue, "allocation of a negative size"};
  Block* block = pool_.take(bytes, purpose.kind, label_of(purpose), purpose.provider_owned, stream->number);
  if (block == nullptr) return {hipErrorOutOfMemory, fmt::format("no memory for {} bytes", bytes)};
  observer_.add(*block);
  *pointer = block->address;
  issue(*stream, make_item(MD_ITEM_ALLOC, *stream, block->address, bytes), "",
        [this, block, bytes, label = block->label] {
          observer_.begin_use_unseen(*block, bytes, label);
          return std::string();
        });
  return {};
}

Status Runtime::free_async(void* pointer, hipStream_t handle) {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.find(handle);
  if (stream == nullptr) return {hipErrorInvalidHandle, "no such stream"};
  if (pointer == nullptr) return {};
  Block* block = memory_.find(pointer);
  if (block == nullptr || block->address != pointer || !pool_.give(*block, stream->number)) return not_a_block(pointer);
  issue(*stream, make_item(MD_ITEM_FREE, *stream, block->address, block->bytes), "", [this, block] {
    observer_.end_use_unseen(*block);
    return std::string();
  });
  return {};
}

Status Runtime::copy_now(void* to, const void* from, std::int64_t bytes) {
  if (executing.active) {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
    return {};
  }
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (!log_.closure(streams_.newest(streams_.null_stream())).empty()) {
    if (Status status = wait_for(streams_.null_stream()); !status.ok()) return status;
  }
  Block* block = memory_.find(to);
  const bool weight = block != nullptr && block->kind == MD_MEMORY_WEIGHT && block->map != nullptr;
  if (weight) memory_.set_read_only(*block, false);
  std::memmove(to, from, static_cast<std::size_t>(bytes));
  if (weight) memory_.set_read_only(*block, true);
  return {};
}

}  // namespace moediff::hiphost
