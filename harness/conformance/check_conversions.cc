// Each conversion is a Program of one step, `convert`, run by the provider in the worker like any other; what comes
// back is compared bit by bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "harness/conformance/expected_codes.h"
#include "harness/conformance/formats.h"
#include "harness/core/check.h"
#include "harness/core/formats.h"
#include "harness/core/text.h"
#include "harness/program/builder.h"
#include "reference/formats.h"

namespace moediff {
namespace {

Program convert_program(DType from, DType to, std::int64_t elements, bool saturate) {
  ProgramBuilder b({"main"});
  const int source = b.add_own("from", from, {elements}, BufferKind::input, "from");
  const int target = b.add_own("to", to, {elements}, BufferKind::activation);
  OpParams params;
  params.saturate = saturate;
  b.call(OpKind::convert, 0, {b.whole(source), b.whole(target)}, params);
  b.program.outputs = {target};
  validate(b.program);
  return std::move(b.program);
}

struct Converted {
  std::vector<std::byte> bytes;
  std::string refused;
};

Converted convert(Executor& executor, const ConformanceOptions& options, const Conversion& conversion, Tensor from) {
  const DType to = conversion.encode ? conversion.format : DType::f32;
  const Program program = convert_program(from.dtype, to, from.size(), conversion.saturate);
  RunRequest request;
  request.program = &program;
  request.inputs = std::make_shared<const Inputs>(Inputs{{"from", std::move(from)}});
  request.provider = options.provider;
  request.timeout_seconds = options.timeout_seconds;
  Run run = executor.run(request);
  if (run.status != RunStatus::ok) return {{}, run.detail.empty() ? "the run did not end well" : run.detail};
  std::vector<std::byte>& bytes = run.capture.operands.at(0).at(1);
  CHECK(static_cast<std::int64_t>(bytes.size()) == request.inputs->at("from").size() * size_of(to),
        "the output of convert was captured");
  return {std::move(bytes), ""};
}

std::uint32_t code_at(std::span<const std::byte> bytes, std::size_t i, int width) {
  std::uint32_t code = 0;
  std::memcpy(&code, bytes.data() + i * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
  return code;
}

bool is_nan_code(DType format, std::uint32_t code) {
  return std::isnan(format == DType::f32 ? std::bit_cast<float>(code) : reference::decode(format, code));
}

void note(ConversionResult& result, std::uint32_t input, std::uint32_t expected, std::uint32_t actual) {
  ++result.wrong;
  if (!result.first) result.first = WrongConversion{input, expected, actual};
}

/// Compares codes; all NaNs of a format count as one.
void compare_code(ConversionResult& result, DType format, std::uint32_t input, std::uint32_t expected,
                  std::uint32_t actual) {
  ++result.checked;
  if (actual == expected || (is_nan_code(format, expected) && is_nan_code(format, actual))) return;
  note(result, input, expected, actual);
}

void check_decode(Executor& executor, const ConformanceOptions& options, ConversionResult& result) {
  const DType format = result.conversion.format;
  const int width = size_of(format);
  const std::uint32_t codes = 1u << (8 * width);
  Tensor from(format, {codes});
  for (std::uint32_t code = 0; code < codes; ++code)
    std::memcpy(from.data.data() + static_cast<std::size_t>(code) * static_cast<std::size_t>(width), &code,
                static_cast<std::size_t>(width));
  const Converted converted = convert(executor, options, result.conversion, std::move(from));
  result.refused = converted.refused;
  if (!result.refused.empty()) return;
  for (std::uint32_t code = 0; code < codes; ++code) {
    const auto expected = static_cast<float>(reference::decode(format, code));  // exact: every format embeds in f32
    compare_code(result, DType::f32, code, std::bit_cast<std::uint32_t>(expected), code_at(converted.bytes, code, 4));
  }
}

Tensor floats_of(std::span<const std::uint32_t> bits) {
  Tensor from(DType::f32, {static_cast<std::int64_t>(bits.size())});
  std::memcpy(from.data.data(), bits.data(), from.data.size());
  return from;
}

void check_sample(Executor& executor, const ConformanceOptions& options, ConversionResult& result) {
  const DType format = result.conversion.format;
  const std::vector<std::uint32_t> bits = interesting_floats(format);
  const Converted converted = convert(executor, options, result.conversion, floats_of(bits));
  result.refused = converted.refused;
  for (std::size_t i = 0; i < bits.size() && result.refused.empty(); ++i) {
    compare_code(result, format, bits[i], expected_code(result.conversion, bits[i]),
                 code_at(converted.bytes, i, size_of(format)));
  }
}

/// One chunk of consecutive bit patterns: runs of equal expected codes, which is far cheaper than encoding each.
void check_chunk(std::span<const std::byte> bytes, std::uint64_t begin, std::uint64_t end, ConversionResult& result) {
  const DType format = result.conversion.format;
  const int width = size_of(format);
  for (const CodeRun& run : code_runs(result.conversion, begin, end)) {
    for (std::uint64_t bits = run.begin; bits < run.end; ++bits) {
      const std::uint32_t actual = code_at(bytes, static_cast<std::size_t>(bits - begin), width);
      if (actual != run.code) {
        compare_code(result, format, static_cast<std::uint32_t>(bits), run.code, actual);
      } else {
        ++result.checked;
      }
    }
  }
}

void check_all_floats(Executor& executor, const ConformanceOptions& options, ConversionResult& result) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 24, kFloats = std::uint64_t{1} << 32;
  std::vector<std::uint32_t> bits(kChunk);
  for (std::uint64_t begin = 0; begin < kFloats && result.refused.empty(); begin += kChunk) {
    for (std::uint64_t i = 0; i < kChunk; ++i)
      bits[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(begin + i);
    const Converted converted = convert(executor, options, result.conversion, floats_of(bits));
    result.refused = converted.refused;
    if (result.refused.empty()) check_chunk(converted.bytes, begin, begin + kChunk, result);
  }
}

}  // namespace

std::string to_string(const Conversion& conversion) {
  const std::string format(to_string(conversion.format));
  if (!conversion.encode) return format + " to f32";
  return "f32 to " + format + (conversion.saturate ? ", saturating" : "");
}

std::vector<Conversion> all_conversions() {
  std::vector<Conversion> all;
  for (const DTypeRow& row : kDTypes) {
    const bool narrow = is_float(row.dtype) && row.bytes <= 2;
    if (!narrow && row.dtype != DType::f8_e8m0) continue;
    all.push_back({row.dtype, false, false});
    if (!narrow) continue;  // e8m0 scales are made by a rounding rule of their own, with the quantisation
    all.push_back({row.dtype, true, false});
    all.push_back({row.dtype, true, true});
  }
  return all;
}

std::vector<ConversionResult> check_conversions(Executor& executor, const ConformanceOptions& options,
                                                const std::function<void(const ConversionResult&)>& done) {
  std::vector<ConversionResult> results;
  for (const Conversion& conversion : all_conversions()) {
    if (!options.filter.empty() && !glob_match(options.filter, to_string(conversion))) continue;
    ConversionResult result;
    result.conversion = conversion;
    if (!conversion.encode) {
      check_decode(executor, options, result);
    } else if (options.all_floats) {
      check_all_floats(executor, options, result);
    } else {
      check_sample(executor, options, result);
    }
    done(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace moediff
