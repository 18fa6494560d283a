// The reference, seen from outside: one function a stage, plain spans of doubles, no Eigen, no test framework. Number
// formats are in formats.h, arithmetic modulo a prime in algebra.h. Each returns the value in double *with the terms
// its error bound needs*; the bound formulae themselves are in harness/compare/bounds. Computed per (row, expert) in a
// fixed order, so that a row's bits do not depend on its batch (§8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/dtype.h"
#include "harness/model/expert_policy.h"
#include "harness/model/quant.h"
#include "harness/model/router_policy.h"

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

/// How the candidate accumulates a dot product: `splits` K ranges (the last ones may be short or empty), each summed
/// from its first product on, then the partial sums added in order. Every step of it that rounds counts in
/// Terms::sum_sq_partial with the square of its result; the first block of a range and the first range are added to 0,
/// which does not.
struct Accumulation {
  int splits = 1;
  /// 0: a range is one running sum. Otherwise each K block of this size is summed from 0 and then added to the range's
  /// sum; ranges are a multiple of it: ceil(ceil(K / splits) / block) * block.
  std::int64_t block = 0;
  int block_roundings = 0;  ///< products with scales that a block's sum goes through before it is added
  int range_roundings = 0;  ///< products with scales and weights that a range's sum goes through
  bool integer = false;     ///< a range's sum is exact (int32), then rounded once in the conversion to fp32
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
  RouterPolicy policy = {};
  DType model = DType::f32;  ///< what KeptIn::model rounds to
};
/// Top-k routing of given logits [T, E] with bias [E] (empty: none): DeepSeek-V3's "noaux_tc" gate (DeepSeek-V3 report,
/// section 2.1.2; deepseek-ai/DeepSeek-V3 inference/model.py, Gate) and its relatives, by policy (harness/model). All
/// in double, but for the roundings that the policy names, which are carried out.
struct Routing {
  std::vector<double> exact_score;  ///< sigmoid or softmax of the logits, not rounded [T, E]
  std::vector<double> score;        ///< as the policy keeps it [T, E]
  std::vector<double> choice;       ///< score + bias, as kept; before any mask [T, E]
  std::vector<double> group_score;  ///< [T, n_group]; top2_sum of a group with one expert is that expert's
  std::vector<std::int32_t> ids;    ///< [T, k], by descending choice, lower index on ties; rows that are not finite by
                                    ///< policy.not_finite
  std::vector<double> weights;      ///< [T, k], of `ids`
};
Routing route(std::span<const double> logits, std::span<const double> bias, std::int64_t tokens,
              const RouterConfig& config);
/// Weights of given ids [T, k] (the candidate's choice) from the scores of `routing`.
std::vector<double> routing_weights(const Routing& routing, std::span<const double> bias,
                                    std::span<const std::int32_t> ids, std::int64_t tokens, const RouterConfig& config);

struct Dispatch {
  std::vector<std::int32_t> offsets, slots, rows;
};
/// Stable counting sort of the slots of ids [T * width] by expert. Ids outside [0, experts) must not occur.
Dispatch dispatch(std::span<const std::int32_t> ids, std::int64_t experts);

/// A gated activation: value = f(gate) * h(up), with the derivatives that error propagation needs. A row of the input
/// [rows, 2*inter] is gate, then up; arrays [rows, inter].
struct Activation {
  std::vector<double> act, dact;        ///< f(gate), f'(gate)
  std::vector<double> factor, dfactor;  ///< h(up): up, clamped up or clamped up + 1; h'(up): 1, or 0 where clamped
  std::vector<double> value;
};
Activation gated_activation(ActivationKind kind, double limit, std::span<const double> gate_up, std::int64_t rows,
                            std::int64_t inter);

/// out[t] = sum_j weights[t, j] * x[rows[t*width + j]]; empty weights: all 1.
Terms combine(std::span<const double> x, std::span<const std::int32_t> rows, std::span<const double> weights,
              std::int64_t tokens, std::int64_t width, std::int64_t hidden);

/// Elements that share an activation scale: `group` of a row, a row (group 0), or everything (`whole`).
struct ScaleGroups {
  std::int64_t group = 0;
  bool whole = false;
};
ScaleGroups scale_groups(const QuantSpec& spec);

/// Largest magnitudes [rows, ceil(columns / group)], [rows, 1] or [1, 1]; NaN where an element is NaN.
std::vector<double> largest_magnitudes(std::span<const double> x, std::int64_t rows, std::int64_t columns,
                                       ScaleGroups groups);

/// Quantisation of activations as IEEE fp32 arithmetic does it, step by step by the policies of `spec` (fmax resolved):
/// scales and the values of the codes, before multiplication with the scale.
struct Quantised {
  std::vector<double> scale;  ///< as largest_magnitudes
  std::vector<double> code;   ///< [rows, columns]
};
Quantised quantise(std::span<const double> x, std::int64_t rows, std::int64_t columns, const QuantSpec& spec);

/// Scale [rows, 1, 2 or more groups] of each element [rows, columns].
std::vector<double> spread_scales(std::span<const double> scales, std::int64_t rows, std::int64_t columns,
                                  ScaleGroups groups);

/// One weight matrix [n, k] as stored: codes (packed for int4 and fp4: ceil(k/2) bytes a row) with scales [sn, sk]. The
/// values it stands for, code * scale [n, k]; for int4 and fp4 rounded to the model dtype, as the kernels do before the
/// product. `halves`: see harness/model/quant.h.
struct StoredWeight {
  std::int64_t n, k;
  std::span<const std::byte> codes;
  std::span<const double> scales;
  std::int64_t sn, sk;
};
std::vector<double> weight_values(const StoredWeight& weight, const QuantSpec& spec, bool halves, DType model);

/// The other direction, for inputs: codes and scales of a matrix of finite reals, as a checkpoint has them (and, for
/// e4m3fnuz, as loading normalises them). fp8 and int8 in fp32 steps by the policies of `spec`, but with the largest
/// code of the checkpoint (448 or 127) in the place of fmax, which is of activations; only block scales become powers
/// of two. int4 scales amax / 7.5 in `model`; mxfp4 by OCP MX section 6.3 (2^(floor(log2 amax) - 2)).
struct QuantisedWeight {
  std::vector<std::byte> codes;
  std::vector<double> scales;
  std::int64_t sn = 0, sk = 0;
};
QuantisedWeight quantise_weight(std::span<const double> weight, std::int64_t n, std::int64_t k, const QuantSpec& spec,
                                bool halves, DType model);

}  // namespace moediff::reference
