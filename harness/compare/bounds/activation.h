// Errors of the gated activations f(gate) * h(up), evaluated in fp32.
#pragma once

#include "harness/model/expert_policy.h"

namespace moediff::bounds {

/// |fp32 f(gate) - f|, where `act` is the exact f(gate) and `limit` the clamp.
///
///   silu, swiglu_clamped   8u |f|
///   swigluoai              (8u + 2u |z| (1 - s)) |f|, z = 1.702 gate: the argument's roundings times d log s / d log z
///   gelu                   |gate| / 2 (4u |erf z| + 2u |z erf'(z)| + u (1 + erf z)) + 2u |f|, z = gate / sqrt 2:
///                          absolute in 1 + erf, which cancels for negative gates
///   gelu_tanh              the same with tanh z, z = sqrt(2/pi) (gate + 0.044715 gate^3), 7u for the argument
double activation_error(ActivationKind kind, double limit, double gate, double act);
/// |fp32 h(up) - h|: clamped up + 1 is one addition, all else is exact.
double factor_error(ActivationKind kind, double factor);
/// The roundings of f as the root of the sum of their squares, for the statistical propagation.
double activation_spread(ActivationKind kind, double limit, double gate, double act);

/// Does the gate (up) lie within `reach` of its clamp? The derivative is then that of the steeper side.
bool near_gate_clamp(ActivationKind kind, double limit, double gate, double reach);
bool near_up_clamp(ActivationKind kind, double limit, double up, double reach);

}  // namespace moediff::bounds
