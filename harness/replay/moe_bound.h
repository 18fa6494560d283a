// How far a right implementation of a quantised MoE layer may be from the double result, element by element: roundings,
// and codes that may round either way, carried through the layer (harness/compare/bounds, docs/bounds.md). It is
// conditional: given the experts chosen.
#pragma once

#include <cstdint>
#include <span>

#include "harness/compare/bounds/propagation.h"
#include "harness/replay/compare.h"
#include "harness/replay/moe.h"

namespace moediff {

/// The expert's products accumulate in fp32, K block by K block where they are quantised. Values are stored in
/// arithmetic.model (f32 or bf16).
bounds::Uncertain routed_bound(const MoeWeights& weights, std::span<const double> x, std::span<const std::int32_t> ids,
                               const bounds::Uncertain& routing_weights, std::int64_t tokens, std::int64_t top_k,
                               const MoeArithmetic& arithmetic);
bounds::Uncertain shared_bound(const MoeWeights& weights, std::span<const double> x, std::int64_t tokens,
                               const MoeArithmetic& arithmetic);

/// Logits x gate^T, accumulated in fp32 and stored in `model`.
bounds::Uncertain logits_bound(const reference::Matrix& gate, std::span<const double> x, std::int64_t tokens,
                               DType model);

/// Expected values [rows, …] against uncertain ones, each within its statistical bound.
Check compare_uncertain(const ExpectedTensor& expected, std::span<const double> values, std::int64_t rows,
                        const bounds::Uncertain& actual, const Rows& compared = {});

}  // namespace moediff
