// One MoE layer after its router, composed of the reference's stages, in double: each expert, the routed sum, the
// shared experts, the sum of both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/dtype.h"
#include "harness/model/expert_policy.h"
#include "harness/model/quant.h"
#include "reference/api.h"

namespace moediff {

struct MoeWeights {
  std::int64_t hidden = 0, inter = 0, experts = 0, shared_inter = 0;  ///< shared_inter 0: no shared experts
  std::vector<reference::Matrix> w13, w2;                             ///< by expert: [2 inter, hidden], [hidden, inter]
  reference::Matrix shared_w13, shared_w2;
};

/// How the layer computes. Values are rounded to `model` where layers store them (f64: nowhere). Quantised activations
/// are codes times scales; `quant` of the routed experts, `shared_quant` of the shared ones. Where the second
/// quantisation is fused with the activation, what it reads is float32.
struct MoeArithmetic {
  ActivationKind activation = ActivationKind::silu;
  DType model = DType::f64;
  QuantSpec quant, shared_quant;  ///< scheme none: activations as they are
  bool weigh_input = false;       ///< the routing weight multiplies the experts' input, not their output
};

struct Routed {
  std::vector<double> expert_out;  ///< [T, k, H], not weighted
  std::vector<double> routed_out;  ///< [T, H]
};

/// `x` [T, H]; `ids`, `weights` [T, top_k], ids in range.
Routed routed_experts(const MoeWeights& weights, std::span<const double> x, std::span<const std::int32_t> ids,
                      std::span<const double> routing_weights, std::int64_t tokens, std::int64_t top_k,
                      const MoeArithmetic& arithmetic);

/// [T, H].
std::vector<double> shared_experts(const MoeWeights& weights, std::span<const double> x, std::int64_t tokens,
                                   const MoeArithmetic& arithmetic);

/// a + b, rounded to `model`; an empty `b` counts as 0.
std::vector<double> sum(std::span<const double> a, std::span<const double> b, DType model);

/// The values that quantised activations [rows, columns] stand for, code * scale, exactly.
std::vector<double> quantised_values(std::span<const double> x, std::int64_t rows, std::int64_t columns,
                                     const QuantSpec& spec);

}  // namespace moediff
