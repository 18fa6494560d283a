// Conformance of a device's own number conversions: every code decoded, and floats encoded, against the definitions of
// the formats as the reference writes them (reference/formats.h). HIP's own header got one of these conversions wrong
// for millions of inputs, which no test of a whole kernel would show.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/dtype.h"
#include "harness/run/executor.h"

namespace moediff {

/// decode: all codes of `format` to f32. encode: f32 to `format`, overflow to infinity or NaN, or (saturate) finite
/// values beyond the largest to the largest.
struct Conversion {
  DType format = DType::bf16;
  bool encode = false, saturate = false;
};
/// "f8_e4m3fn to f32", "f32 to f8_e5m2, saturating".
std::string to_string(const Conversion& conversion);
/// Every conversion that is checked.
std::vector<Conversion> all_conversions();

/// One wrong result, as bits.
struct WrongConversion {
  std::uint32_t input = 0, expected = 0, actual = 0;
};

struct ConversionResult {
  Conversion conversion;
  std::int64_t checked = 0, wrong = 0;
  std::optional<WrongConversion> first;  ///< the wrong one with the lowest input
  std::string refused;                   ///< why the provider or its run gave no result; "" = it did
};

struct ConformanceOptions {
  ProviderSpec provider;
  bool all_floats = false;  ///< encode all 2^32 floats; otherwise the neighbours of every boundary, and a sample
  std::string filter;       ///< glob of names of conversions; empty: all
  double timeout_seconds = 60;
};

/// `done` is called after each conversion. Any NaN code is right where NaN is expected; signs of zeros count.
std::vector<ConversionResult> check_conversions(Executor& executor, const ConformanceOptions& options,
                                                const std::function<void(const ConversionResult&)>& done);

/// Floats worth encoding: all values of the format, the midpoints between neighbours, their neighbours among the
/// floats, both signs; zeros, infinities, NaNs, subnormals; and a sample of every exponent. As bits, ascending.
std::vector<std::uint32_t> interesting_floats(DType format);

/// A run of floats, ascending as bits, that all encode to one code.
struct CodeRun {
  std::uint64_t begin = 0, end = 0;  ///< bit patterns [begin, end)
  std::uint32_t code = 0;
};
/// The runs that make up the bit patterns [begin, end), by bisection: rounding is monotone between 0 and infinity.
std::vector<CodeRun> code_runs(const Conversion& conversion, std::uint64_t begin, std::uint64_t end);

}  // namespace moediff
