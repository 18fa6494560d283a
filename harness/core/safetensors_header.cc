// Parsing a safetensors header: first the JSON (depth limited, no name twice), then each tensor alone, then all
// byte ranges together. Each step collects its errors, so that a damaged file is described once and completely.
#include "harness/core/safetensors_header.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/core/error.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 3;  // header object > tensor object > shape array

/// Bytes per element of the format's dtypes, also of those that moediff cannot read.
struct DTypeSize {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<DTypeSize, 16> kDTypeSizes{{
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"F8_E4M3", 1},
    {"F8_E5M2", 1},
    {"F8_E8M0", 1},
    {"U16", 2},
    {"I16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"U32", 4},
    {"I32", 4},
    {"F32", 4},
    {"U64", 8},
    {"I64", 8},
    {"F64", 8},
}};

constexpr std::uint64_t kUnknownSize = 0;

std::uint64_t dtype_size(std::string_view name) {
  for (const DTypeSize& entry : kDTypeSizes) {
    if (entry.name == name) return entry.bytes;
  }
  return kUnknownSize;
}

constexpr std::size_t kMaxErrors = 20;     // a hostile header could have millions
constexpr std::size_t kMaxFoundText = 80;  // and a shape of any length

/// Collects the errors of one file.
class Errors {
 public:
  explicit Errors(const std::string& path) : path_(path) {}
  void add(std::string found, std::string rule) {
    if (errors_.size() == kMaxErrors) return;
    if (found.size() > kMaxFoundText) found = found.substr(0, kMaxFoundText) + "...";
    errors_.push_back({{path_}, std::move(found), std::move(rule), "the file is damaged or truncated: write it again"});
  }
  void add(const std::string& tensor, std::string found, const std::string& rule) {
    add(std::move(found), "tensor '" + tensor + "': " + rule);
  }
  void throw_if_any() {
    if (!errors_.empty()) throw UserError(std::move(errors_));
  }

 private:
  std::string path_;
  std::vector<Error> errors_;
};

/// Notices what a parsed object can no longer show: nesting too deep, and a key that stands there twice.
class ParseGuard {
 public:
  explicit ParseGuard(Errors& errors) : errors_(errors) {}
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kMaxDepth) {
      errors_.add("", "the header must not nest deeper than " + std::to_string(kMaxDepth) + " levels");
      errors_.throw_if_any();  // now: a hostile file may go on for as long as it likes
    }
    if (event == Json::parse_event_t::object_start) keys_[depth + 1].clear();
    if (event == Json::parse_event_t::key && !keys_[depth].insert(parsed.get<std::string>()).second) {
      errors_.add(parsed.get<std::string>(), "a name must occur only once in the header");
    }
    return true;
  }

 private:
  Errors& errors_;
  std::array<std::set<std::string>, kMaxDepth + 1> keys_;
};

Json parse_json(std::string_view text, Errors& errors) {
  ParseGuard guard(errors);
  Json json;
  try {
    json = Json::parse(text, std::ref(guard));
  } catch (const Json::exception& problem) {
    errors.add("", std::string("the header must be valid JSON: ") + problem.what());
  }
  errors.throw_if_any();
  if (!json.is_object()) errors.add(json.type_name(), "the header must be a JSON object");
  errors.throw_if_any();
  return json;
}

std::map<std::string, std::string> parse_metadata(const Json& json, Errors& errors) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object()) errors.add("__metadata__", "the metadata must be a JSON object of strings");
  for (const auto& item : json.items()) {
    if (!item.value().is_string()) {
      errors.add(item.key(), "a value of __metadata__ must be a string");
    } else {
      metadata[item.key()] = item.value().get<std::string>();
    }
  }
  return metadata;
}

bool is_size(const Json& json) {
  return json.is_number_unsigned() && json.get<std::uint64_t>() <= std::uint64_t{1} << 62;
}
bool is_size_list(const Json& json) { return json.is_array() && std::all_of(json.begin(), json.end(), is_size); }

/// Elements times bytes, or nothing on overflow.
std::optional<std::uint64_t> bytes_of(const Shape& shape, std::uint64_t element) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t product = element;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(extent), &product)) return std::nullopt;
  }
  return product;
}

std::string range_text(const TensorInfo& info) {
  return "bytes " + std::to_string(info.begin) + " to " + std::to_string(info.end);
}

void check_range(const std::string& name, const TensorInfo& info, std::uint64_t data_bytes, Errors& errors) {
  if (info.begin > info.end) return errors.add(name, range_text(info), "data_offsets must not go backwards");
  if (info.end > data_bytes) {
    errors.add(name, range_text(info),
               "data_offsets must lie in the data section of " + std::to_string(data_bytes) + " bytes");
  }
  const std::uint64_t element = dtype_size(info.dtype);
  if (element == kUnknownSize) return;
  const std::optional<std::uint64_t> expected = bytes_of(info.shape, element);
  const std::string what = info.dtype + " of shape " + to_string(info.shape);
  if (!expected) {
    errors.add(name, what, "the size of the tensor must fit 64 bits");
  } else if (*expected != info.end - info.begin) {
    errors.add(name, std::to_string(info.end - info.begin) + " bytes",
               what + " must have " + std::to_string(*expected) + " bytes");
  }
}

std::optional<TensorInfo> parse_tensor(const std::string& name, const Json& json, Errors& errors) {
  const auto member = [&](const char* key) { return json.is_object() && json.contains(key) ? json[key] : Json(); };
  const Json dtype = member("dtype"), shape = member("shape"), offsets = member("data_offsets");
  if (!dtype.is_string()) errors.add(name, dtype.dump(), "dtype must be a string");
  if (!is_size_list(shape)) errors.add(name, shape.dump(), "shape must be a list of sizes");
  const bool pair = is_size_list(offsets) && offsets.size() == 2;
  if (!pair) errors.add(name, offsets.dump(), "data_offsets must be two byte offsets");
  if (!dtype.is_string() || !is_size_list(shape) || !pair) return std::nullopt;
  return TensorInfo{dtype.get<std::string>(), shape.get<Shape>(), offsets[0].get<std::uint64_t>(),
                    offsets[1].get<std::uint64_t>()};
}

void check_overlaps(const std::map<std::string, TensorInfo>& tensors, Errors& errors) {
  std::vector<std::pair<std::string, TensorInfo>> by_begin;
  for (const auto& entry : tensors) {
    if (entry.second.begin < entry.second.end) by_begin.emplace_back(entry);
  }
  std::sort(by_begin.begin(), by_begin.end(),
            [](const auto& a, const auto& b) { return a.second.begin < b.second.begin; });
  for (std::size_t i = 1; i < by_begin.size(); ++i) {
    const auto& [previous, before] = by_begin[i - 1];
    const auto& [name, info] = by_begin[i];
    if (info.begin >= before.end) continue;
    errors.add(name, range_text(info),
               "its bytes must not overlap those of tensor '" + previous + "' (" + range_text(before) + ")");
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view text, std::uint64_t data_bytes) {
  Errors errors(path);
  const Json json = parse_json(text, errors);
  SafetensorsHeader header;
  for (const auto& item : json.items()) {
    if (item.key() == "__metadata__") {
      header.metadata = parse_metadata(item.value(), errors);
    } else if (const std::optional<TensorInfo> info = parse_tensor(item.key(), item.value(), errors)) {
      check_range(item.key(), *info, data_bytes, errors);
      header.tensors.emplace(item.key(), *info);
    }
  }
  check_overlaps(header.tensors, errors);
  errors.throw_if_any();
  return header;
}

}  // namespace moediff
