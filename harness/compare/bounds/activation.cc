// First-order error analysis of a few fp32 operations; constants and sources in constants.h.
#include "harness/compare/bounds/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/compare/bounds/constants.h"

namespace moediff::bounds {
namespace {

bool clamps(ActivationKind kind) { return kind == ActivationKind::swiglu_clamped || kind == ActivationKind::swigluoai; }

/// Where exp(-z) overflows, or exp(z) is subnormal, the result may be 0.
double tail(double z, double act) { return z < kExpOverflow ? kMayVanish * std::fabs(act) : 0; }

double swish_error(double gate, double slope, double argument, double act) {
  const double z = slope * gate, steepness = std::fabs(z) / (1 + std::exp(z));  // |z| (1 - sigmoid(z))
  const double relative = kSigmoidRelative + (std::isfinite(steepness) ? argument * steepness : 0);
  return std::fabs(act) * relative + tail(z, act) + kActivationTiny;
}

/// f = gate / 2 (1 + g(z)) with g = erf or tanh.
struct Cancelling {
  double g;                   ///< g(z)
  double relative, argument;  ///< errors of g and of z
  double carried;             ///< |z g'(z)|
  bool flat;                  ///< g is +-1 in fp32: below, f is 0
};

double cancelling_error(double gate, double act, const Cancelling& c) {
  if (c.flat) return (gate < 0 ? kMayVanish : 2 * kU32) * std::fabs(act) + kActivationTiny;
  const double sum = c.relative * std::fabs(c.g) + c.argument * c.carried + kU32 * (1 + c.g);
  return std::fabs(gate) / 2 * sum + 2 * kU32 * std::fabs(act) + kActivationTiny;
}

double gelu_error(double gate, double act) {
  const double z = gate / std::numbers::sqrt2, slope = 2 * std::numbers::inv_sqrtpi * std::exp(-z * z);
  return cancelling_error(gate, act,
                          {std::erf(z), kErfRelative, kErfArgument, std::fabs(z) * slope, std::fabs(z) > kErfFlat});
}

double gelu_tanh_error(double gate, double act) {
  constexpr double kCubic = 0.044715, kRoot = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const double z = kRoot * (gate + kCubic * gate * gate * gate), t = std::tanh(z);
  return cancelling_error(gate, act,
                          {t, kTanhRelative, kTanhArgument, std::fabs(z) * (1 - t * t), std::fabs(z) > kTanhFlat});
}

}  // namespace

double activation_error(ActivationKind kind, double limit, double gate, double act) {
  const double clamped = clamps(kind) ? std::min(gate, limit) : gate;
  switch (kind) {
    case ActivationKind::gelu:
      return gelu_error(clamped, act);
    case ActivationKind::gelu_tanh:
      return gelu_tanh_error(clamped, act);
    case ActivationKind::swigluoai:
      return swish_error(clamped, kOaiSlope, kOaiArgument, act);
    case ActivationKind::silu:
    case ActivationKind::swiglu_clamped:
      break;
  }
  return swish_error(clamped, 1, 0, act);
}

double factor_error(ActivationKind kind, double factor) {
  return kind == ActivationKind::swigluoai ? kU32 * std::fabs(factor) + kTiny32 : 0;
}

double activation_spread(ActivationKind kind, double limit, double gate, double act) {
  // The largest single rounding dominates: the ratio is that of silu's, 4.4 to 8.
  return activation_error(kind, limit, gate, act) * (kSigmoidSpread / kSigmoidRelative);
}

bool near_gate_clamp(ActivationKind kind, double limit, double gate, double reach) {
  return clamps(kind) && std::fabs(gate - limit) <= reach;
}

bool near_up_clamp(ActivationKind kind, double limit, double up, double reach) {
  return clamps(kind) && std::fabs(std::fabs(up) - limit) <= reach;
}

}  // namespace moediff::bounds
