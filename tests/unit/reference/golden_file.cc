#include "tests/unit/reference/golden_file.h"

namespace moediff::reference {

GoldenFile::GoldenFile(const std::string& name)
    : file_(std::string(MOEDIFF_SOURCE_DIR) + "/tests/golden/data/" + name + ".safetensors") {}

std::vector<double> GoldenFile::doubles(const std::string& tensor) const { return to_doubles(file_.read(tensor)); }

std::vector<std::int32_t> GoldenFile::integers(const std::string& tensor) const {
  const Tensor found = file_.read(tensor);
  const auto values = found.as<std::int32_t>();
  return {values.begin(), values.end()};
}

std::vector<std::byte> GoldenFile::bytes(const std::string& tensor) const { return file_.read(tensor).data; }

Shape GoldenFile::shape(const std::string& tensor) const { return file_.tensors().at(tensor).shape; }

std::string GoldenFile::text(const std::string& key, const std::string& otherwise) const {
  const auto found = file_.metadata().find("cfg." + key);
  return found == file_.metadata().end() ? otherwise : found->second;
}

std::int64_t GoldenFile::number(const std::string& key, std::int64_t otherwise) const {
  return std::stoll(text(key, std::to_string(otherwise)));
}

}  // namespace moediff::reference
