// The JSON header of a safetensors file, checked before anything is believed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "harness/core/safetensors.h"

namespace moediff {

struct SafetensorsHeader {
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
};

/// Parses `json`, the header of `path`, whose data section has `data_bytes` bytes. UserError with every mistake found:
/// not a JSON object of the format, a name twice, shape and dtype that do not fill the byte range, a range outside the
/// data section, ranges that overlap.
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json, std::uint64_t data_bytes);

}  // namespace moediff
