// Codes of one element: 8-bit floats by formats.h, two's complement int8, biased int4, and the 16 values of e2m1.
#include "reference/weight_codes.h"

#include <array>
#include <cmath>

#include "reference/formats.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

constexpr std::array<double, 8> kE2m1{0, 0.5, 1, 1.5, 2, 3, 4, 6};
constexpr unsigned kSign = 8;

}  // namespace

double value_of_code(CodeFormat format, DType fp8, unsigned code) {
  switch (format) {
    case CodeFormat::fp8:
      return decode(fp8, code);
    case CodeFormat::int8:
      return code < 128 ? code : static_cast<double>(code) - 256;
    case CodeFormat::int4:
      return static_cast<double>(code) - 8;
    case CodeFormat::fp4:
      return code < kSign ? kE2m1[code] : -kE2m1[code - kSign];
    case CodeFormat::none:
      break;
  }
  require(false, "the scheme has no codes");
  return 0;
}

unsigned nearest_fp4(double value) {
  const double magnitude = std::fabs(value);
  unsigned best = 0;
  for (unsigned code = 1; code < kE2m1.size(); ++code) {
    const double distance = std::fabs(magnitude - kE2m1[code]), best_distance = std::fabs(magnitude - kE2m1[best]);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
  }
  return best | (std::signbit(value) ? kSign : 0u);
}

}  // namespace moediff::reference
