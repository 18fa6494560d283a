// Reading and writing safetensors files. The header is never trusted: sizes, overlaps, offsets, dtypes are checked.
// Format: https://github.com/huggingface/safetensors (8-byte little-endian header length, JSON header, data).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/tensor.h"

namespace moediff {

struct TensorInfo {
  std::string dtype;  ///< as in the header: "BF16", "F8_E4M3", …
  Shape shape;
  std::uint64_t begin = 0, end = 0;  ///< byte offsets in the data section
};

/// A memory-mapped file. Throws UserError with file, tensor, expected and found for anything malformed, at opening.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool contains(const std::string& name) const { return tensors_.count(name) > 0; }
  /// The named tensor. UserError when it is absent (with the nearest name), of a dtype we do not read, or, with
  /// `expected_shape` non-empty, of another shape.
  Tensor read(const std::string& name, const Shape& expected_shape = {}) const;

 private:
  std::string path_;
  const std::byte* base_ = nullptr;
  std::uint64_t size_ = 0, data_start_ = 0;
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes tensors in name order. UserError when the file cannot be written.
void write_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace moediff
