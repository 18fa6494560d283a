// The steps of quantisation in IEEE fp32 arithmetic: C++ float, without contraction (-ffp-contract=off). Policies:
// harness/model/quant.h.
#pragma once

#include <cstdint>

#include "harness/model/quant.h"

namespace moediff::reference {

/// The scale of a group with largest magnitude `amax`. `power_of_two`: rounded up to one.
float scale_step(float amax, float fmax, const QuantSpec& spec, bool power_of_two);
/// x over the scale, by the policy, clamped to [-fmax, fmax], not yet rounded. A scale of 0 gives 0.
float divide_step(float x, float scale, float amax, float fmax, const QuantSpec& spec);
/// The integer nearest to x.
float integer_step(float x, HalfTo half_to);

}  // namespace moediff::reference
