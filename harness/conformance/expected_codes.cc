// What floats must encode to: single ones by the reference, and whole ranges of them as runs of equal codes.
#include "harness/conformance/expected_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/conformance/formats.h"
#include "harness/core/random.h"
#include "reference/formats.h"

namespace moediff {
namespace {

constexpr std::uint64_t kSign = 0x80000000, kInfinity = 0x7f800000;

float as_float(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

/// End of the stretch of bit patterns that begins with `bits` and along which codes change monotonically: the numbers
/// of one sign with their infinity, or its NaNs.
std::uint64_t monotone_end(std::uint64_t bits) {
  const std::uint64_t sign = bits & kSign, magnitude = bits & ~kSign;
  return sign + (magnitude <= kInfinity ? kInfinity + 1 : kSign);
}

/// A value, its two neighbours among the floats, and all of them negative.
void add_neighbours(double value, std::vector<std::uint32_t>& all) {
  const auto rounded = static_cast<float>(value);
  for (const float near : {std::nextafter(rounded, 0.0f), rounded, std::nextafter(rounded, INFINITY)}) {
    all.push_back(std::bit_cast<std::uint32_t>(near));
    all.push_back(std::bit_cast<std::uint32_t>(-near));
  }
}

}  // namespace

std::uint32_t expected_code(const Conversion& conversion, std::uint32_t bits) {
  const auto overflow = conversion.saturate ? reference::Overflow::saturate_finite : reference::Overflow::special;
  return reference::encode(conversion.format, as_float(bits), overflow);
}

std::vector<CodeRun> code_runs(const Conversion& conversion, std::uint64_t begin, std::uint64_t end) {
  std::vector<CodeRun> runs;
  while (begin < end) {
    const std::uint64_t limit = std::min(end, monotone_end(begin));
    const std::uint32_t code = expected_code(conversion, static_cast<std::uint32_t>(begin));
    // The last pattern of the stretch with this code, by doubling steps and then bisection.
    std::uint64_t last = begin, step = 1;
    while (last + step < limit && expected_code(conversion, static_cast<std::uint32_t>(last + step)) == code) {
      last += step;
      step *= 2;
    }
    for (; step > 0; step /= 2) {
      if (last + step < limit && expected_code(conversion, static_cast<std::uint32_t>(last + step)) == code)
        last += step;
    }
    runs.push_back({begin, last + 1, code});
    begin = last + 1;
  }
  return runs;
}

std::vector<std::uint32_t> interesting_floats(DType format) {
  std::vector<std::uint32_t> all{0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
                                 0x7f800001, 0xffffffff, 0x00000001, 0x80000001, 0x007fffff, 0x00800000};
  const std::uint32_t codes = 1u << (8 * size_of(format) - 1);
  double before = 0, step = 0;
  for (std::uint32_t code = 0; code < codes; ++code) {
    const double value = reference::decode(format, code);
    if (!std::isfinite(value)) continue;
    add_neighbours(value, all);
    add_neighbours((before + value) / 2, all);
    step = value - before;
    before = value;
  }
  add_neighbours(before + step / 2, all);  // where overflow begins
  add_neighbours(2 * before, all);
  constexpr std::uint32_t kExponents = 512, kSample = 64;
  for (std::uint32_t i = 0; i < kExponents * kSample; ++i) {
    all.push_back((i / kSample) << 23 | static_cast<std::uint32_t>(random_bits(0x5eed, i) & 0x7fffff));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace moediff
