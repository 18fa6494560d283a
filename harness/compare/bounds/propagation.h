// Errors carried through a whole layer (the chained comparison): for each element the double value, a statistical and
// a hard error, stage by stage.
//
// Model: each rounding of the candidate adds an independent error of zero mean with |e| <= c. `squares` is the sum of
// (derivative * c)^2 over all roundings upstream, to first order; by Hoeffding the error exceeds lambda sqrt(squares)
// with the stated probability. `hard` is the same sum of absolute values, with the second-order terms of silu.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/dtype.h"
#include "reference/api.h"

namespace moediff::bounds {

struct Uncertain {
  std::vector<double> value, squares, hard;

  std::size_t size() const { return value.size(); }
};

Uncertain exact_values(std::vector<double> values);
/// lambda sqrt(squares) of element i.
double statistical_bound(const Uncertain& x, std::size_t i);
/// The error of storing in `dtype` (from fp32: double roundings are covered by the accumulation's own error).
void store(Uncertain& x, DType dtype);

/// One matrix and the rows of x it is applied to.
struct LinearPart {
  const reference::Matrix* weight = nullptr;
  int weight_grid = 0;  ///< grid_exponent of the weights
  std::vector<std::int32_t> source;
};
/// weight * x[source[r]] for the rows of all parts, one after another; without the store.
Uncertain linear(const Uncertain& x, std::span<const LinearPart> parts, reference::Accumulation accumulation);

/// [rows, 2 inter] to [rows, inter]: silu rounded to `dtype`, times up, stored.
Uncertain silu_and_mul(const Uncertain& gate_up, std::int64_t rows, std::int64_t inter, DType dtype);

/// Weights [tokens, k] of the given ids, from uncertain logits [tokens, experts].
Uncertain routing_weights(const Uncertain& logits, std::span<const std::int32_t> ids, std::int64_t tokens,
                          const reference::RouterConfig& config);

/// out[t] = sum_j weights[t, j] x[rows[t * width + j]], without the store.
Uncertain combine(const Uncertain& x, std::span<const std::int32_t> rows, const Uncertain& weights, std::int64_t tokens,
                  std::int64_t width, std::int64_t hidden);

/// round(round(factor * routed) + shared); `shared` may be null.
Uncertain scale_add(const Uncertain& routed, const Uncertain* shared, double factor, DType dtype);
Uncertain add(const Uncertain& a, const Uncertain& b, DType dtype);

}  // namespace moediff::bounds
