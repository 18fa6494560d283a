// The kinds that are tables of 8-bit floating-point formats: decoding all codes, encoding float32 values.
#include <array>
#include <cstring>

#include "harness/replay/compare.h"
#include "harness/replay/fp8.h"
#include "harness/replay/kinds.h"
#include "reference/formats.h"

namespace moediff {
namespace {

/// Overflow conventions, by the name's beginning: "nonsat_torch" is nonsat as torch has it.
struct OverflowName {
  std::string_view name;
  reference::Overflow overflow;
};
constexpr std::array<OverflowName, 4> kOverflows{{{"nonsat", reference::Overflow::special},
                                                  {"sat_ml_dtypes", reference::Overflow::saturate_finite},
                                                  {"sat_onnx", reference::Overflow::saturate},
                                                  {"sat", reference::Overflow::saturate}}};

const OverflowName* find_overflow(std::string_view name) {
  for (const OverflowName& row : kOverflows) {
    if (name == row.name || name.rfind(std::string(row.name) + "_", 0) == 0) return &row;
  }
  return nullptr;
}

/// "enc.e4m3fn.nonsat" in parts; nothing when it is not of this form.
struct EncodeName {
  std::string tensor, convention;
  DType format = DType::f8_e4m3fn;
  reference::Overflow overflow = reference::Overflow::special;
};
std::optional<EncodeName> parse_encode(const std::string& tensor) {
  const std::size_t dot = tensor.find('.', 4);
  if (tensor.rfind("enc.", 0) != 0 || dot == std::string::npos) return std::nullopt;
  const std::optional<DType> format = fp8_format(tensor.substr(4, dot - 4));
  const std::string convention = tensor.substr(dot + 1);
  const OverflowName* const overflow = find_overflow(convention);
  if (!format || *format == DType::f8_e8m0 || overflow == nullptr) return std::nullopt;
  return EncodeName{tensor, convention, *format, overflow->overflow};
}

/// The inputs: float32 values, and their bits where the file has them (NaN payloads).
std::vector<double> read_inputs(ReplayFile& file, std::int64_t count, std::vector<Check>& checks) {
  const std::vector<double> values = file.reals("in.f32", {count});
  if (!file.has("in.f32_bits")) return values;
  std::vector<double> from_bits;
  for (const std::int32_t bits : file.integers("in.f32_bits", {count}, INT32_MIN, INT32_MAX)) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    from_bits.push_back(value);
  }
  file.throw_if_mistaken();
  checks.push_back(compare_exactly({"in.f32_bits", "", "f32", "f32_bits"}, from_bits, values));
  return values;
}

}  // namespace

std::vector<Check> replay_fp8_decode(ReplayFile& file) {
  std::vector<Check> checks;
  for (const auto& entry : file.tensors()) {
    const std::string& name = entry.first;
    const std::optional<DType> format = name.rfind("dec.", 0) == 0 ? fp8_format(name.substr(4)) : std::nullopt;
    if (!format) continue;
    const std::vector<double> expected = file.reals(name, {256});
    std::vector<double> actual;
    for (std::uint32_t code = 0; code < 256; ++code) actual.push_back(reference::decode(*format, code));
    checks.push_back(compare_exactly({name, "", "f32", "decode " + name.substr(4)}, expected, actual));
  }
  file.throw_if_mistaken();
  return checks;
}

std::vector<Check> replay_fp8_encode(ReplayFile& file) {
  const std::int64_t count = file.shape("in.f32", 1)[0];
  file.throw_if_mistaken();
  std::vector<Check> checks;
  const std::vector<double> values = read_inputs(file, count, checks);
  for (const auto& entry : file.tensors()) {
    const std::optional<EncodeName> name = parse_encode(entry.first);
    if (!name) continue;
    const std::vector<std::byte> expected = file.bytes(entry.first, {count}, name->format);
    std::vector<std::byte> actual;
    for (const double value : values) {
      actual.push_back(static_cast<std::byte>(reference::encode(name->format, value, name->overflow)));
    }
    checks.push_back(
        compare_codes({entry.first, "", "", "encode " + entry.first.substr(4)}, expected, actual, name->format));
  }
  file.throw_if_mistaken();
  return checks;
}

}  // namespace moediff
