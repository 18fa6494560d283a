// Reading safetensors: the header is read and checked first, then the file is mapped and tensors are copied out of it.
#include "harness/core/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "harness/core/error.h"
#include "harness/core/safetensors_header.h"
#include "harness/core/text.h"

namespace moediff {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own library

[[noreturn]] void fail(const std::string& path, std::string found, std::string rule, std::string remedy) {
  throw UserError(Error{{path}, std::move(found), std::move(rule), std::move(remedy)});
}

/// An open file that closes itself.
class File {
 public:
  explicit File(const std::string& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) {
      fail(path, "", std::string("the file must be readable: ") + std::strerror(errno),
           "check the path and its permissions");
    }
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }

  std::uint64_t size() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      fail(path_, "", "the path must be a regular file", "give the path of a .safetensors file");
    }
    return static_cast<std::uint64_t>(status.st_size);
  }

  void read(std::uint64_t offset, char* out, std::uint64_t bytes) const {
    while (bytes > 0) {
      const ssize_t done = ::pread(descriptor_, out, bytes, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail(path_, "", "the file must be readable to its end", "write it again");
      out += done;
      offset += static_cast<std::uint64_t>(done);
      bytes -= static_cast<std::uint64_t>(done);
    }
  }

 private:
  const std::string& path_;
  int descriptor_;
};

/// The header length of a file of `size` bytes, checked.
std::uint64_t read_header_length(const File& file, const std::string& path, std::uint64_t size) {
  const std::string remedy = "the file is truncated or not a safetensors file: write it again";
  if (size < kLengthBytes) {
    fail(path, std::to_string(size) + " bytes", "a safetensors file has at least 8 bytes", remedy);
  }
  std::array<char, kLengthBytes> raw;
  file.read(0, raw.data(), raw.size());
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
  }
  if (length > size - kLengthBytes || length > kMaxHeader) {
    fail(path, "header length " + std::to_string(length),
         "the header must fit the file of " + std::to_string(size) + " bytes and be at most " +
             std::to_string(kMaxHeader) + " bytes long",
         remedy);
  }
  return length;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const File file(path_);
  size_ = file.size();
  const std::uint64_t length = read_header_length(file, path_, size_);
  std::string json(length, '\0');
  file.read(kLengthBytes, json.data(), length);
  data_start_ = kLengthBytes + length;
  SafetensorsHeader header = parse_safetensors_header(path_, json, size_ - data_start_);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
  // Mapped last: a constructor that throws runs no destructor.
  void* const base = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (base == MAP_FAILED) {
    fail(path_, "", std::string("the file must be mappable: ") + std::strerror(errno), "copy it to a local disk");
  }
  base_ = static_cast<const std::byte*>(base);
}

SafetensorsFile::~SafetensorsFile() { ::munmap(const_cast<std::byte*>(base_), size_); }

Tensor SafetensorsFile::read(const std::string& name, const Shape& expected_shape) const {
  const auto entry = tensors_.find(name);
  if (entry == tensors_.end()) {
    std::vector<std::string> names;
    for (const auto& tensor : tensors_) names.push_back(tensor.first);
    const std::string near = nearest(name, names);
    fail(path_, name, "the file must contain this tensor",
         near.empty() ? "it has " + std::to_string(names.size()) + " tensors, none of a similar name"
                      : "did you mean '" + near + "'?");
  }
  const TensorInfo& info = entry->second;
  const auto row = std::find_if(kDTypes.begin(), kDTypes.end(),
                                [&](const DTypeRow& candidate) { return candidate.safetensors == info.dtype; });
  if (row == kDTypes.end()) {
    fail(path_, info.dtype, "tensor '" + name + "' must have a dtype that moediff reads",
         "convert it to BF16, F32, F64, I32 or U8");
  }
  if (!expected_shape.empty() && info.shape != expected_shape) {
    fail(path_, to_string(info.shape), "tensor '" + name + "' must have the shape " + to_string(expected_shape),
         "check that file and configuration belong together");
  }
  Tensor tensor(row->dtype, info.shape);
  if (!tensor.data.empty()) std::memcpy(tensor.data.data(), base_ + data_start_ + info.begin, tensor.data.size());
  return tensor;
}

}  // namespace moediff
