// Scales and codes of quantised activations: which ones fp32 arithmetic can give.
//
//   scale = max(amax, floor) / fmax, or * (1 / fmax); ue8m0: rounded up to a power of two
//   code  = round(clamp(x / scale, or x * (1 / scale), or x * (fmax / max(amax, floor)), -fmax, fmax))
//
// IEEE arithmetic has one result for each; units that do not divide as IEEE may give a neighbour (constants.h).
#pragma once

#include "harness/compare/bounds/interval.h"
#include "harness/model/quant.h"

namespace moediff::bounds {

/// max(amax, floor) as fp32 has it.
double floored(double amax, const QuantSpec& spec);
/// The scale of IEEE arithmetic.
double ieee_scale(double amax, const QuantSpec& spec);
/// Scales from magnitudes in `amax`, with `theta` times the freedom of a division that is not IEEE's. ue8m0: both ends
/// are powers of two, and only powers of two between them are right.
Interval scale_set(Interval amax, const QuantSpec& spec, double theta);
bool is_power_of_two(double value);

/// What x is multiplied with or divided by on the way to its code.
struct Divisor {
  double scale = 1;      ///< ScaleBy::division, reciprocal
  Interval ratio{1, 1};  ///< ScaleBy::ratio: fmax / max(amax, floor)
};
/// fmax / max(amax, floor) in fp32.
Interval ratio_set(Interval amax, const QuantSpec& spec, double theta);

/// False where the scale is not finite, or its reciprocal overflows: then codes have no meaning.
bool divides(const Divisor& divisor, const QuantSpec& spec);
/// x / scale, before the clamp, as fp32 has it; for a scale of 0: 0.
Interval quotient_set(Interval x, const Divisor& divisor, const QuantSpec& spec, double theta);
/// The values of the codes.
Interval code_set(Interval quotient, const QuantSpec& spec);
/// Distance between neighbouring codes at a code (the wider one at a power of two).
double code_step(double code, const QuantSpec& spec);

}  // namespace moediff::bounds
