#include "harness/run/image.h"

#include <fmt/format.h>

#include <cstring>

#include "harness/run/failure.h"

namespace moediff {
namespace {

/// The value's rows of its input tensor: all of it, or a chunk of its first dimension.
const std::byte* source_of(const Value& value, const Inputs& inputs) {
  const auto found = inputs.find(value.initial);
  if (found == inputs.end()) {
    throw RunFailure(RunStatus::error, fmt::format("the inputs lack the tensor '{}'", value.initial));
  }
  const Tensor& tensor = found->second;
  const std::int64_t rows = value.shape.empty() ? 1 : value.shape[0];
  const std::int64_t row_bytes = rows == 0 ? 0 : value.region.bytes() / rows;
  const auto size = static_cast<std::int64_t>(tensor.data.size());
  const bool whole = size == value.region.bytes();
  const std::int64_t begin = whole ? 0 : value.row_offset * row_bytes;
  if (tensor.dtype != value.dtype || begin < 0 || begin + value.region.bytes() > size) {
    throw RunFailure(RunStatus::error, fmt::format("the input '{}' is {} {}, the Program wants {} {} from row {}",
                                                   value.initial, to_string(tensor.dtype), to_string(tensor.shape),
                                                   to_string(value.dtype), to_string(value.shape), value.row_offset));
  }
  return tensor.data.data() + begin;
}

}  // namespace

std::vector<std::byte> initial_image(const Program& program, int buffer, const Inputs& inputs) {
  std::vector<std::byte> image;
  for (const Value& value : program.values) {
    if (value.buffer != buffer || value.initial.empty()) continue;
    if (image.empty()) image.assign(program.buffers[buffer].bytes, kPoison);
    unpack(source_of(value, inputs), value.region, image.data());
  }
  return image;
}

void pack(const std::byte* base, const Region& region, std::byte* packed) {
  if (region.row_bytes == 0) return;
  for (std::int64_t row = 0; row < region.rows; ++row) {
    std::memcpy(packed + row * region.row_bytes, base + region.offset + row * region.stride, region.row_bytes);
  }
}

void unpack(const std::byte* packed, const Region& region, std::byte* base) {
  if (region.row_bytes == 0) return;
  for (std::int64_t row = 0; row < region.rows; ++row) {
    std::memcpy(base + region.offset + row * region.stride, packed + row * region.row_bytes, region.row_bytes);
  }
}

}  // namespace moediff
