#include "harness/replay/file.h"

#include <algorithm>

namespace moediff {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 27;  // 1 GiB as doubles
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 20;    // so that products of two or three fit 64 bits

const std::string kRemedy = "check that tensors and configuration belong together";

bool is_integer(DType dtype) {
  return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8 || dtype == DType::i8;
}

}  // namespace

ReplayFile::ReplayFile(const std::string& path) : file_(path), mistakes_(path), config_(file_.metadata(), mistakes_) {}

std::string ReplayFile::metadata(const std::string& key) const {
  const auto entry = file_.metadata().find(key);
  return entry == file_.metadata().end() ? "" : entry->second;
}

std::string ReplayFile::dtype(const std::string& name) const { return has(name) ? file_.tensors().at(name).dtype : ""; }

Shape ReplayFile::shape(const std::string& name, std::size_t rank) {
  Shape ones(rank, 1);
  if (!has(name)) {
    mistakes_.add(name, "the file must contain this tensor", "write it again with all inputs of its kind");
    return ones;
  }
  const Shape& found = file_.tensors().at(name).shape;
  const bool small = std::all_of(found.begin(), found.end(), [](std::int64_t extent) { return extent <= kMaxExtent; });
  if (found.size() == rank && small) return found;
  mistakes_.add(to_string(found),
                "tensor '" + name + "' must have " + std::to_string(rank) + " dimensions of at most " +
                    std::to_string(kMaxExtent),
                kRemedy);
  return ones;
}

Tensor ReplayFile::read(const std::string& name, const Shape& shape) {
  used_.insert(name);
  const auto entry = file_.tensors().find(name);
  try {
    if (entry != file_.tensors().end() && entry->second.shape == shape && count(shape) > kMaxElements) {
      mistakes_.add(to_string(shape),
                    "tensor '" + name + "' must have at most " + std::to_string(kMaxElements) + " elements",
                    "replay a smaller case");
    } else {
      return file_.read(name, shape);
    }
  } catch (const UserError& error) {
    mistakes_.add(error);
  }
  return {};
}

std::vector<double> ReplayFile::reals(const std::string& name, const Shape& shape) {
  const Tensor tensor = read(name, shape);
  if (!tensor.shape.empty() && !is_integer(tensor.dtype)) return to_doubles(tensor);
  if (!tensor.shape.empty()) {
    mistakes_.add(dtype(name), "tensor '" + name + "' must have a floating-point dtype", "store it as F32 or F64");
  }
  return std::vector<double>(static_cast<std::size_t>(std::min(count(shape), kMaxElements)));
}

std::vector<std::int32_t> ReplayFile::integers(const std::string& name, const Shape& shape, std::int64_t low,
                                               std::int64_t high) {
  const Tensor tensor = read(name, shape);
  const auto size = static_cast<std::size_t>(std::min(count(shape), kMaxElements));
  if (tensor.shape.empty()) return std::vector<std::int32_t>(size, static_cast<std::int32_t>(low));
  if (!is_integer(tensor.dtype)) {
    mistakes_.add(dtype(name), "tensor '" + name + "' must have an integer dtype", "store it as I32");
    return std::vector<std::int32_t>(size, static_cast<std::int32_t>(low));
  }
  std::vector<std::int32_t> values;
  for (const double value : to_doubles(tensor)) {
    const bool in_range = value >= static_cast<double>(low) && value <= static_cast<double>(high);
    if (!in_range && values.size() < size) {
      mistakes_.add(
          std::to_string(static_cast<std::int64_t>(value)),
          "values of tensor '" + name + "' must be from " + std::to_string(low) + " to " + std::to_string(high),
          kRemedy);
      values.resize(size, static_cast<std::int32_t>(low));
      break;
    }
    values.push_back(static_cast<std::int32_t>(value));
  }
  return values;
}

std::vector<std::byte> ReplayFile::bytes(const std::string& name, const Shape& shape, DType format) {
  const Tensor tensor = read(name, shape);
  if (tensor.shape.empty())
    return std::vector<std::byte>(static_cast<std::size_t>(std::min(count(shape), kMaxElements)));
  const bool plain = tensor.dtype == DType::u8 || tensor.dtype == DType::i8;
  if (!plain && tensor.dtype != format) {
    mistakes_.add(dtype(name),
                  "tensor '" + name + "' must hold bytes: U8" +
                      (row(format).safetensors.empty() ? "" : " or " + std::string(row(format).safetensors)),
                  "store the codes in one of these dtypes");
    return std::vector<std::byte>(tensor.data.size());
  }
  return tensor.data;
}

std::vector<std::string> ReplayFile::unused() const {
  std::vector<std::string> names;
  for (const auto& tensor : file_.tensors()) {
    const bool information = tensor.first.rfind("diag.", 0) == 0;
    if (!information && used_.count(tensor.first) == 0) names.push_back(tensor.first);
  }
  return names;
}

}  // namespace moediff
