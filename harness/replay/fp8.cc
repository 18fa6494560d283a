#include "harness/replay/fp8.h"

#include <array>

#include "reference/formats.h"

namespace moediff {
namespace {

struct FormatName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<FormatName, 6> kFormats{{{"e4m3fn", DType::f8_e4m3fn},
                                              {"e4m3fnuz", DType::f8_e4m3fnuz},
                                              {"e5m2", DType::f8_e5m2},
                                              {"e5m2fnuz", DType::f8_e5m2fnuz},
                                              {"e8m0fnu", DType::f8_e8m0},
                                              {"e8m0", DType::f8_e8m0}}};

constexpr std::int64_t kMaxBlock = 65536;

}  // namespace

std::optional<DType> fp8_format(const std::string& name) {
  const std::size_t at = name.find("float8_");
  const std::string bare = at == std::string::npos ? name : name.substr(at + 7);
  for (const FormatName& row : kFormats) {
    if (row.name == bare) return row.dtype;
  }
  return std::nullopt;
}

Fp8Kind read_fp8_kind(ReplayFile& file) {
  const std::string name = file.config().text({"fp8"}, "e4m3fn");
  const std::optional<DType> format = fp8_format(name);
  if (format == DType::f8_e4m3fn) return Fp8Kind::e4m3fn;
  if (format == DType::f8_e4m3fnuz) return Fp8Kind::e4m3fnuz;
  file.mistakes().add(name, "configuration value 'fp8' must be e4m3fn or e4m3fnuz",
                      "other formats are not quantised to");
  return Fp8Kind::e4m3fn;
}

std::int64_t read_block(ReplayFile& file) {
  const std::vector<std::int64_t> sizes = file.config().pair({"block", "weight_block_size"}, 1, kMaxBlock, 128);
  if (sizes[0] != sizes[1]) {
    file.mistakes().add(std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]),
                        "configuration value 'block' must be square", "other blocks cannot be replayed");
  }
  return sizes[0];
}

QuantSpec resolved(QuantSpec spec) {
  if (spec.fmax == 0) spec.fmax = spec.fp8 == Fp8Kind::e4m3fn ? 448 : 240;
  return spec;
}

std::vector<std::byte> encoded(const std::vector<double>& codes, DType format) {
  std::vector<std::byte> bytes;
  for (const double code : codes) bytes.push_back(static_cast<std::byte>(reference::encode(format, code)));
  return bytes;
}

std::vector<double> decoded(const std::vector<std::byte>& codes, DType format) {
  std::array<double, 256> table;
  for (std::uint32_t code = 0; code < 256; ++code) table[code] = reference::decode(format, code);
  std::vector<double> values;
  for (const std::byte code : codes) values.push_back(table[std::to_integer<std::size_t>(code)]);
  return values;
}

std::vector<std::string> oracles_with(const ReplayFile& file, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : file.tensors()) {
    const std::string& name = entry.first;
    const bool fits = name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending;
    if (fits) names.push_back(name.substr(0, name.size() - ending.size()));
  }
  return names;
}

}  // namespace moediff
