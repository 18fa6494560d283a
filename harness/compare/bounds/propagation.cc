// Element-wise stages of the error propagation; the sums of products are in propagation_linear.cc.
#include "harness/compare/bounds/propagation.h"

#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/accumulation.h"
#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/scores.h"
#include "harness/core/formats.h"

namespace moediff::bounds {
namespace {

double square(double x) { return x * x; }

Uncertain zeros(std::size_t size) {
  return {std::vector<double>(size), std::vector<double>(size), std::vector<double>(size)};
}

/// Largest error of one rounding to `dtype` of a value near `value`: half a unit in its last place.
double half_ulp(DType dtype, double value) {
  if (value == 0) return half_smallest(dtype);
  return std::max(unit_roundoff(dtype) * std::ldexp(1.0, std::ilogb(value)), half_smallest(dtype));
}

/// Adds one rounding of element i, scaled by what it is multiplied with downstream.
void add_rounding(Uncertain& x, std::size_t i, DType dtype, double rounded_value, double factor) {
  x.squares[i] += square(factor * half_ulp(dtype, rounded_value));
  x.hard[i] +=
      std::fabs(factor) * (unit_roundoff(dtype) * (std::fabs(rounded_value) + x.hard[i]) + half_smallest(dtype));
}

}  // namespace

Uncertain exact_values(std::vector<double> values) {
  Uncertain x = zeros(values.size());
  x.value = std::move(values);
  return x;
}

double statistical_bound(const Uncertain& x, std::size_t i) { return statistical_factor() * std::sqrt(x.squares[i]); }

void store(Uncertain& x, DType dtype) {
  if (dtype == DType::f32) return;  // the accumulator is the output
  for (std::size_t i = 0; i < x.size(); ++i) {
    // A value known exactly and held by the dtype is stored as it is: exact data stay exact.
    if (x.hard[i] == 0 && round_to(dtype, x.value[i]) == x.value[i]) continue;
    add_rounding(x, i, dtype, x.value[i], 1);
  }
}

Uncertain silu_and_mul(const Uncertain& gate_up, std::int64_t rows, std::int64_t inter, DType dtype) {
  const reference::Activation exact = reference::silu_and_mul(gate_up.value, rows, inter);
  Uncertain out = zeros(exact.value.size());
  out.value = exact.value;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < inter; ++column) {
      const std::size_t i = row * inter + column, gate = row * 2 * inter + column, up = gate + inter;
      const double silu = exact.silu[i], dsilu = exact.dsilu[i], u = exact.up[i];
      const double evaluation = silu_error(gate_up.value[gate], silu);
      out.squares[i] = square(dsilu * u) * gate_up.squares[gate] + square(silu) * gate_up.squares[up] +
                       square(u * silu * kSigmoidSpread);
      // |silu''| <= 1/2, so the remainder of the expansion is at most h^2 / 4.
      const double h = gate_up.hard[gate];
      const double silu_hard = std::fabs(dsilu) * h + h * h / 4 + evaluation;
      out.hard[i] = silu_hard * (std::fabs(u) + gate_up.hard[up]) + std::fabs(silu) * gate_up.hard[up];
      if (silu != 0 || h != 0) add_rounding(out, i, dtype, silu, u);
      if (out.value[i] != 0 || out.hard[i] != 0) add_rounding(out, i, dtype, out.value[i], 1);
    }
  }
  return out;
}

Uncertain routing_weights(const Uncertain& logits, std::span<const std::int32_t> ids, std::int64_t tokens,
                          const reference::RouterConfig& config) {
  std::vector<double> score(logits.size());
  for (std::size_t i = 0; i < score.size(); ++i) score[i] = 1 / (1 + std::exp(-logits.value[i]));
  Uncertain out = exact_values(reference::routing_weights(score, ids, tokens, config));
  const double relative = weight_relative_error(config.top_k, config.norm_topk_prob);
  const double relative_spread = weight_relative_spread(config.top_k, config.norm_topk_prob);
  for (std::int64_t t = 0; t < tokens; ++t) {
    // d log s / d logit = 1 - s; a weight s_i / sum moves by its own share and, oppositely, by that of all chosen.
    double sum = 0, pooled_squares = 0, pooled_hard = 0;
    const auto at = [&](std::int64_t j) {
      return static_cast<std::size_t>(t * config.experts + ids[t * config.top_k + j]);
    };
    for (std::int64_t j = 0; j < config.top_k; ++j) sum += score[at(j)];
    for (std::int64_t j = 0; j < config.top_k && config.norm_topk_prob; ++j) {
      const double pull = score[at(j)] / sum * (1 - score[at(j)]);
      pooled_squares += square(pull) * logits.squares[at(j)];
      pooled_hard += pull * logits.hard[at(j)];
    }
    for (std::int64_t j = 0; j < config.top_k; ++j) {
      const std::size_t i = t * config.top_k + j;
      const double weight = std::fabs(out.value[i]), own = 1 - score[at(j)];
      const double spread = own * std::sqrt(logits.squares[at(j)]) + std::sqrt(pooled_squares);
      out.squares[i] = square(weight * spread) + square(weight * relative_spread);
      out.hard[i] = weight * (own * logits.hard[at(j)] + pooled_hard + relative);
    }
  }
  return out;
}

Uncertain scale_add(const Uncertain& routed, const Uncertain* shared, double factor, DType dtype) {
  Uncertain out = zeros(routed.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.value[i] = factor * routed.value[i];
    out.squares[i] = square(factor) * routed.squares[i] + square(kSingleOperation * out.value[i]);
    out.hard[i] = std::fabs(factor) * routed.hard[i];
    if (out.hard[i] != 0 || round_to(dtype, out.value[i]) != out.value[i]) add_rounding(out, i, dtype, out.value[i], 1);
  }
  return shared == nullptr ? out : add(out, *shared, dtype);
}

Uncertain add(const Uncertain& a, const Uncertain& b, DType dtype) {
  Uncertain out = zeros(a.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.value[i] = a.value[i] + b.value[i];
    out.squares[i] = a.squares[i] + b.squares[i] + square(kSingleOperation * out.value[i]);
    out.hard[i] = a.hard[i] + b.hard[i];
    if (out.hard[i] != 0 || round_to(dtype, out.value[i]) != out.value[i]) add_rounding(out, i, dtype, out.value[i], 1);
  }
  return out;
}

}  // namespace moediff::bounds
