// Files of other people's results in tests/golden/data, for tests of the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/safetensors.h"
#include "harness/core/tensor.h"

namespace moediff::reference {

class GoldenFile {
 public:
  /// `name` without folder and ending.
  explicit GoldenFile(const std::string& name);

  std::vector<double> doubles(const std::string& tensor) const;
  std::vector<std::int32_t> integers(const std::string& tensor) const;
  std::vector<std::byte> bytes(const std::string& tensor) const;
  Shape shape(const std::string& tensor) const;
  bool contains(const std::string& tensor) const { return file_.contains(tensor); }
  /// Key of the file's configuration, or `otherwise` where it has none.
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::int64_t number(const std::string& key, std::int64_t otherwise) const;

 private:
  SafetensorsFile file_;
};

}  // namespace moediff::reference
