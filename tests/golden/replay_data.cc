#include "tests/golden/replay_data.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness/core/safetensors.h"
#include "harness/replay/kinds.h"

namespace moediff {
namespace {

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16 || dtype == DType::f16;
}

void double_the_largest(Tensor& tensor) {
  std::vector<double> values = to_doubles(tensor);
  std::size_t largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && std::abs(values[i]) >= std::abs(values[largest])) largest = i;
  }
  values[largest] = values[largest] == 0 ? 1 : 2 * values[largest];
  tensor = from_doubles(tensor.dtype, tensor.shape, values);
}

void replace_an_id(Tensor& tensor) {
  const std::span<std::int32_t> ids = tensor.as<std::int32_t>();
  const auto width = static_cast<std::size_t>(tensor.shape.back());
  std::int32_t other = 0;
  while (std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(width), other) !=
         ids.begin() + static_cast<std::ptrdiff_t>(width)) {
    ++other;
  }
  ids[0] = other;
}

}  // namespace

std::string golden_path(const std::string& name) { return "tests/golden/data/" + name + ".safetensors"; }

ReplayData read_golden(const std::string& name) {
  const SafetensorsFile file(golden_path(name));
  ReplayData data{{}, file.metadata()};
  for (const auto& entry : file.tensors()) data.tensors[entry.first] = file.read(entry.first);
  return data;
}

TemporaryPath::TemporaryPath() {
  std::string pattern = (std::filesystem::temp_directory_path() / "moediff.XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  path_ = folder_ + "/file";
}

TemporaryPath::~TemporaryPath() { std::filesystem::remove_all(folder_); }

FileReplay replay(const ReplayData& data, const CandidateOptions& candidate) {
  const TemporaryPath file;
  write_safetensors(file.path(), data.tensors, data.metadata);
  return replay_file(file.path(), candidate);
}

std::vector<std::string> number_tensors(const ReplayData& data) {
  std::vector<std::string> names;
  for (const auto& entry : data.tensors) {
    if (is_float(entry.second.dtype)) names.push_back(entry.first);
  }
  return names;
}

void spoil(Tensor& tensor) {
  if (is_float(tensor.dtype)) return double_the_largest(tensor);
  if (tensor.dtype == DType::i32) return replace_an_id(tensor);
  tensor.data[0] ^= std::byte{1};
}

}  // namespace moediff
