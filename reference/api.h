// The reference, seen from outside: one function a stage, plain spans of doubles, no Eigen, no test framework, no
// number formats. Each returns the value in double *with the terms its error bound needs*; the bound formulae
// themselves are in harness/compare/bounds. Computed per (row, expert) in a fixed order, so that a row's bits do not
// depend on its batch (§8).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace moediff::reference {

/// An array of exact results with the magnitudes of their evaluation, row-major [rows, columns].
struct Terms {
  std::vector<double> value;
  /// Sum over the terms of |a_i b_i|: for the hard bound gamma_steps * sum_abs.
  std::vector<double> sum_abs;
  /// Sum over the accumulation steps of the squared partial sums: for the statistical bound.
  std::vector<double> sum_sq_partial;
  /// Longest chain of roundings of an element: ceil(K/splits), plus one for each further split in use.
  std::int64_t steps = 0;
};

/// How the candidate accumulates a dot product: `splits` equal K ranges (the last one ragged: ceil(K/splits) each),
/// each summed from its first product on, then the partial sums added in order.
struct Accumulation {
  int splits = 1;
};

/// Weights converted once for repeated use: transposed, contiguous along the output.
class Matrix {
 public:
  Matrix() = default;
  /// `weight` is [n, k] row-major.
  Matrix(std::span<const double> weight, std::int64_t n, std::int64_t k);
  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  const double* column(std::int64_t k) const { return transposed_.data() + k * n_; }

 private:
  std::int64_t n_ = 0, k_ = 0;
  std::vector<double> transposed_;
};

/// x [rows, k] times weight^T: out[r, n] = sum_k x[r, k] weight[n, k].
Terms linear(std::span<const double> x, std::int64_t rows, const Matrix& weight, Accumulation accumulation = {});

/// Grouped: row r of expert e (offsets[e] <= r < offsets[e+1]) is x[source[r]] times weights[e]^T. `source` may be
/// empty (identity).
Terms grouped_linear(std::span<const double> x, std::span<const std::int32_t> source,
                     std::span<const std::int32_t> offsets, std::span<const Matrix> weights,
                     Accumulation accumulation = {});

struct RouterConfig {
  std::int64_t experts, top_k, n_group, topk_group;
  bool norm_topk_prob;
  double factor;  ///< multiplied into the weights (routed_scaling_factor, or 1)
};
/// DeepSeek-V3's "noaux_tc" gate (DeepSeek-V3 report, section 2.1.2; deepseek-ai/DeepSeek-V3 inference/model.py, Gate):
/// from given logits [T, E] and bias [E].
struct Routing {
  std::vector<double> score;        ///< sigmoid(logits) [T, E]
  std::vector<double> choice;       ///< score + bias [T, E]
  std::vector<double> group_score;  ///< sum of the two largest choices of a group (the largest alone when a group has
                                    ///< one expert) [T, n_group]
  std::vector<std::int32_t> ids;    ///< [T, k], by descending choice, lower index on ties
  std::vector<double> weights;      ///< [T, k], of `ids`
};
Routing route(std::span<const double> logits, std::span<const double> bias, std::int64_t tokens,
              const RouterConfig& config);
/// Weights of given ids [T, k] (the candidate's choice): score / sum * factor.
std::vector<double> routing_weights(std::span<const double> score, std::span<const std::int32_t> ids,
                                    std::int64_t tokens, const RouterConfig& config);

struct Dispatch {
  std::vector<std::int32_t> offsets, slots, rows;
};
/// Stable counting sort of the slots of ids [T * width] by expert. Ids outside [0, experts) must not occur.
Dispatch dispatch(std::span<const std::int32_t> ids, std::int64_t experts);

/// silu(gate), its derivative and the product with up; a row of the input [rows, 2*inter] is gate, then up; arrays
/// [rows, inter].
struct Activation {
  std::vector<double> silu, dsilu, up, value;  ///< value = silu * up
};
Activation silu_and_mul(std::span<const double> gate_up, std::int64_t rows, std::int64_t inter);

/// out[t] = sum_j weights[t, j] * x[rows[t*width + j]].
Terms combine(std::span<const double> x, std::span<const std::int32_t> rows, std::span<const double> weights,
              std::int64_t tokens, std::int64_t width, std::int64_t hidden);

}  // namespace moediff::reference
