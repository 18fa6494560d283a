// Writing safetensors: header padded with spaces to 8 bytes, then the tensors in name order without gaps.
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/core/check.h"
#include "harness/core/error.h"
#include "harness/core/safetensors.h"

namespace moediff {
namespace {

std::string header_text(const std::map<std::string, Tensor>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    CHECK(name != "__metadata__", "the format keeps this name for itself");
    CHECK(!row(tensor.dtype).safetensors.empty(), "the format has a name for the dtype");
    CHECK(tensor.data.size() == static_cast<std::size_t>(tensor.size() * size_of(tensor.dtype)),
          "data must fill the shape");
    const std::uint64_t end = offset + tensor.data.size();
    header[name] = {{"dtype", row(tensor.dtype).safetensors},
                    {"shape", tensor.shape},
                    {"data_offsets", std::array<std::uint64_t, 2>{offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(tensors, metadata);
  std::array<char, 8> length;
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>(static_cast<unsigned char>(header.size() >> (8 * i) & 0xff));
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(length.data(), length.size());
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const auto& entry : tensors) {
    file.write(reinterpret_cast<const char*>(entry.second.data.data()),
               static_cast<std::streamsize>(entry.second.data.size()));
  }
  file.close();
  if (!file) {
    throw UserError(Error{{path},
                          "",
                          std::string("the file must be writable: ") + std::strerror(errno),
                          "choose a folder that exists, is writable and has space"});
  }
}

}  // namespace moediff
