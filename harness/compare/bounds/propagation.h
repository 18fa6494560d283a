// Errors carried through a whole layer (the chained comparison): for each element the double value, a statistical and
// a hard error, stage by stage.
//
// Model: each rounding of the candidate adds an independent error of zero mean with |e| <= c. `squares` is the sum of
// (derivative * c)^2 over all roundings upstream, to first order; by Hoeffding the error exceeds lambda sqrt(squares)
// with the stated probability. `hard` is the same sum of absolute values, with second-order terms. Where a result may
// overflow, or comes from a NaN, both are infinite: nothing can be said.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/dtype.h"
#include "reference/api.h"

namespace moediff::bounds {

struct Uncertain {
  std::vector<double> value, squares, hard;
  std::int64_t flippable = 0;  ///< codes upstream, these included, that rounding may take either way

  std::size_t size() const { return value.size(); }
};

Uncertain exact_values(std::vector<double> values);
/// lambda sqrt(squares) of element i; infinite where nothing can be said.
double statistical_bound(const Uncertain& x, std::size_t i);
void make_no_claim(Uncertain& x, std::size_t i);
/// The error of storing in `dtype` (from fp32: double roundings are covered by the accumulation's own error).
void store(Uncertain& x, DType dtype);

/// One matrix and the rows of x it is applied to.
struct LinearPart {
  const reference::Matrix* weight = nullptr;
  std::span<const int> weight_grid;  ///< grid_exponent of the weight's rows
  std::vector<std::int32_t> source;
};
/// Activations as codes with scales. Errors of codes are those of code * scale, in units of the scale; a scale's own
/// moves all codes of its group together.
struct Scales {
  const Uncertain* values = nullptr;  ///< null: x is no codes
  reference::ScaleGroups groups;
};
/// weight * x[source[r]] for the rows of all parts, one after another; without the store. `underflow`: as in
/// accumulation_error.
Uncertain linear(const Uncertain& x, const Scales& scales, std::int64_t columns, std::span<const LinearPart> parts,
                 const reference::Accumulation& accumulation, double underflow);
/// Multiplies row r with weights[slots[r]] [.., 1]. `slots` may be empty: r.
void weigh_rows(Uncertain& x, const Uncertain& weights, std::span<const std::int32_t> slots, std::int64_t columns);

/// [rows, 2 inter] to [rows, inter] in fp32: f(gate), by `twice` rounded to `dtype`, times h(up); without the store.
Uncertain gated_activation(const Uncertain& gate_up, std::int64_t rows, std::int64_t inter, const ExpertPolicy& policy,
                           bool twice, DType dtype);

/// Codes and scales of x [rows, columns].
struct UncertainCodes {
  Uncertain codes, scales;
};
UncertainCodes quantise(const Uncertain& x, std::int64_t rows, std::int64_t columns, const QuantSpec& spec);

/// Weights [tokens, k] of the given ids, from uncertain logits [tokens, experts].
Uncertain routing_weights(const Uncertain& logits, std::span<const double> bias, std::span<const std::int32_t> ids,
                          std::int64_t tokens, const reference::RouterConfig& config);

/// out[t] = sum_j weights[t, j] x[rows[t * width + j]]; `weights` may be null: all 1. With the store: once, or with
/// `rounds_each` every product and every sum.
Uncertain combine(const Uncertain& x, std::span<const std::int32_t> rows, const Uncertain* weights, std::int64_t tokens,
                  std::int64_t hidden, bool rounds_each, DType dtype);

/// round(round(factor * routed) + shared); `shared` may be null.
Uncertain scale_add(const Uncertain& routed, const Uncertain* shared, double factor, DType dtype);
Uncertain add(const Uncertain& a, const Uncertain& b, DType dtype);
/// round(round(weight of row) * x).
Uncertain weigh_input(const Uncertain& x, const Uncertain& weights, std::int64_t columns, DType dtype);

}  // namespace moediff::bounds
