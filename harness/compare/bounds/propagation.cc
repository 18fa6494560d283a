// Element-wise stages of the error propagation; sums of products are in propagation_linear.cc, the router's weights in
// propagation_router.cc, codes in propagation_quant.cc.
#include "harness/compare/bounds/propagation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/compare/bounds/activation.h"
#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/interval.h"
#include "harness/compare/bounds/propagation_rounding.h"

namespace moediff::bounds {

Uncertain zeros(std::size_t size) {
  return {std::vector<double>(size), std::vector<double>(size), std::vector<double>(size)};
}

void make_no_claim(Uncertain& x, std::size_t i) { x.squares[i] = x.hard[i] = std::numeric_limits<double>::infinity(); }

void add_rounding(Uncertain& x, std::size_t i, DType dtype, double rounded_value, double factor) {
  const double reached = std::fabs(rounded_value) * (1 + unit_roundoff(dtype)) + statistical_bound(x, i);
  if (std::isfinite(rounded_value) && reached >= largest(dtype)) return make_no_claim(x, i);
  x.squares[i] += square(factor * half_ulp(dtype, rounded_value));
  x.hard[i] +=
      std::fabs(factor) * (unit_roundoff(dtype) * (std::fabs(rounded_value) + x.hard[i]) + half_smallest(dtype));
}

void add_rounding_unless_held(Uncertain& x, std::size_t i, DType dtype, double rounded_value) {
  if (x.hard[i] != 0 || round_to(dtype, rounded_value) != rounded_value) add_rounding(x, i, dtype, rounded_value, 1);
}

Uncertain exact_values(std::vector<double> values) {
  Uncertain x = zeros(values.size());
  x.value = std::move(values);
  return x;
}

double statistical_bound(const Uncertain& x, std::size_t i) {
  const double bound = statistical_factor() * std::sqrt(x.squares[i]);
  return std::isnan(bound) ? std::numeric_limits<double>::infinity() : bound;
}

void store(Uncertain& x, DType dtype) {
  if (dtype == DType::f32) return;  // the accumulator is the output
  for (std::size_t i = 0; i < x.size(); ++i) add_rounding_unless_held(x, i, dtype, x.value[i]);
}

namespace {

/// One element of a gated activation.
struct Gated {
  double gate, act, dact, factor, dfactor;
};

/// The derivatives of the steeper side where a clamp's kink is within reach.
void steepen(Gated& g, double up, const ExpertPolicy& policy, double limit, double gate_reach, double up_reach) {
  if (near_gate_clamp(policy.activation, limit, g.gate, gate_reach)) g.dact = kSteepest;
  if (near_up_clamp(policy.activation, limit, up, up_reach)) g.dfactor = 1;
}

}  // namespace

Uncertain gated_activation(const Uncertain& gate_up, std::int64_t rows, std::int64_t inter, const ExpertPolicy& policy,
                           bool twice, DType dtype) {
  const double limit = static_cast<float>(policy.limit);
  const reference::Activation exact = reference::gated_activation(policy.activation, limit, gate_up.value, rows, inter);
  Uncertain out = zeros(exact.value.size());
  out.value = exact.value;
  out.flippable = gate_up.flippable;
  for (std::int64_t i = 0; i < rows * inter; ++i) {
    const std::size_t at = i, gate = i / inter * 2 * inter + i % inter, up = gate + inter;
    Gated g{gate_up.value[gate], exact.act[at], exact.dact[at], exact.factor[at], exact.dfactor[at]};
    const double h = gate_up.hard[gate], up_h = gate_up.hard[up];
    steepen(g, gate_up.value[up], policy, limit, h, up_h);
    const double error = activation_error(policy.activation, limit, g.gate, g.act);
    const double spread = activation_spread(policy.activation, limit, g.gate, g.act);
    out.squares[at] = square(g.dact * g.factor) * gate_up.squares[gate] +
                      square(g.act * g.dfactor) * gate_up.squares[up] + square(g.factor * spread);
    // |f''| <= kCurvature, so the remainder of the expansion is at most kCurvature h^2 / 2.
    const double act_hard = std::fabs(g.dact) * h + kCurvature * h * h / 2 + error;
    const double factor_hard = std::fabs(g.dfactor) * up_h + factor_error(policy.activation, g.factor);
    out.hard[at] = act_hard * (std::fabs(g.factor) + factor_hard) + std::fabs(g.act) * factor_hard;
    if (twice && (g.act != 0 || h != 0)) add_rounding(out, at, dtype, g.act, g.factor);
    if (!twice) add_rounding(out, at, DType::f32, out.value[at], 1);
  }
  return out;
}

Uncertain scale_add(const Uncertain& routed, const Uncertain* shared, double factor, DType dtype) {
  Uncertain out = zeros(routed.size());
  out.flippable = routed.flippable;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.value[i] = factor * routed.value[i];
    out.squares[i] = square(factor) * routed.squares[i] + square(kSingleOperation * out.value[i]);
    out.hard[i] = std::fabs(factor) * routed.hard[i];
    add_rounding_unless_held(out, i, dtype, out.value[i]);
  }
  return shared == nullptr ? out : add(out, *shared, dtype);
}

Uncertain add(const Uncertain& a, const Uncertain& b, DType dtype) {
  Uncertain out = zeros(a.size());
  out.flippable = a.flippable + b.flippable;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.value[i] = a.value[i] + b.value[i];
    out.squares[i] = a.squares[i] + b.squares[i] + square(kSingleOperation * out.value[i]);
    out.hard[i] = a.hard[i] + b.hard[i];
    add_rounding_unless_held(out, i, dtype, out.value[i]);
  }
  return out;
}

Uncertain weigh_input(const Uncertain& x, const Uncertain& weights, std::int64_t columns, DType dtype) {
  Uncertain weight = weights;
  for (std::size_t t = 0; t < weight.size(); ++t) add_rounding_unless_held(weight, t, dtype, weight.value[t]);
  Uncertain out = x;
  weigh_rows(out, weight, {}, columns);
  for (std::size_t i = 0; i < out.size(); ++i) add_rounding_unless_held(out, i, dtype, out.value[i]);
  return out;
}

void weigh_rows(Uncertain& x, const Uncertain& weights, std::span<const std::int32_t> slots, std::int64_t columns) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(columns);
    const std::size_t slot = slots.empty() ? row : static_cast<std::size_t>(slots[row]);
    const double w = weights.value[slot], y = x.value[i];
    x.value[i] = w * y;
    x.squares[i] = w * w * x.squares[i] + y * y * weights.squares[slot];
    x.hard[i] = std::fabs(w) * x.hard[i] + (std::fabs(y) + x.hard[i]) * weights.hard[slot];
  }
}

}  // namespace moediff::bounds
