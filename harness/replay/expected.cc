#include "harness/replay/expected.h"

#include <algorithm>
#include <array>
#include <optional>

namespace moediff {
namespace {

constexpr std::array<std::string_view, 3> kPrecisions{"f64", "f32", "bf16"};

std::optional<ExpectedTensor> parse(const std::string& tensor) {
  for (std::size_t begin = tensor.find('.'); begin != std::string::npos; begin = tensor.find('.', begin + 1)) {
    const std::size_t end = tensor.find('.', begin + 1);
    if (begin == 0 || end == std::string::npos || end + 1 == tensor.size()) continue;
    const std::string part = tensor.substr(begin + 1, end - begin - 1);
    if (std::find(kPrecisions.begin(), kPrecisions.end(), part) == kPrecisions.end()) continue;
    return ExpectedTensor{tensor, tensor.substr(0, begin), part, tensor.substr(end + 1)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const ReplayFile& file, const std::vector<std::string>& not_oracles) {
  std::vector<ExpectedTensor> all;
  for (const auto& entry : file.tensors()) {
    const bool excluded = std::any_of(not_oracles.begin(), not_oracles.end(), [&](const std::string& prefix) {
      return !prefix.empty() && entry.first.rfind(prefix, 0) == 0;
    });
    if (excluded) continue;
    if (std::optional<ExpectedTensor> expected = parse(entry.first)) all.push_back(std::move(*expected));
  }
  return all;
}

ExpectedTensor plain_expected(const ReplayFile& file, std::string tensor, std::string oracle, std::string name) {
  std::string precision = file.dtype(tensor);
  std::transform(precision.begin(), precision.end(), precision.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return {std::move(tensor), std::move(oracle), std::move(precision), std::move(name)};
}

}  // namespace moediff
