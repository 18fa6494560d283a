// Algebra mode: the stages over the integers modulo p = 2^61 - 1. Two programs that are equal in exact arithmetic give
// equal results here, whatever their order of summation; others differ, but for a chance of degree / p an element
// (Schwartz-Zippel), as every stage is a polynomial or a quotient of polynomials in its random inputs. What each stage
// computes in this mode is written down in kernels/abi/moediff_abi.h; this is the reference's own writing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/model/expert_policy.h"
#include "harness/model/quant.h"

namespace moediff::reference::algebra {

using Element = std::uint64_t;  ///< in [0, p)
inline constexpr Element kPrime = (std::uint64_t{1} << 61) - 1;

Element add(Element a, Element b);
Element multiply(Element a, Element b);
/// 1 / a; of 0: 0.
Element inverse(Element a);
Element activation(ActivationKind kind, Element gate);
/// The scale of a group whose elements sum to `sum`.
Element scale_of_sum(Element sum);

/// out[r, n] = weight of r * sum_k x[r, k] sx(r, k) w[n, k] sw(n, k). Empty scales and row weights: 1.
struct Linear {
  std::span<const Element> x;              ///< [rows of x, k]
  std::span<const Element> x_scales;       ///< as reference::largest_magnitudes, or empty
  std::span<const Element> weight;         ///< [experts, n, k]
  std::span<const Element> weight_scales;  ///< [experts, sn, sk], or empty
  std::int64_t n = 0, k = 0, sn = 0, sk = 0;
  std::span<const std::int32_t> source;   ///< row of x by output row
  std::span<const std::int32_t> offsets;  ///< [experts + 1]
  std::span<const Element> row_weights;   ///< [rows], or empty
  QuantSpec quant;
  bool halves = false;
};
std::vector<Element> linear(const Linear& job);

/// [rows, 2 inter] to [rows, inter].
std::vector<Element> gated_activation(ActivationKind kind, std::span<const Element> gate_up, std::int64_t rows,
                                      std::int64_t inter);
struct Quantised {
  std::vector<Element> scale, code;
};
Quantised quantise(std::span<const Element> x, std::int64_t rows, std::int64_t columns, const QuantSpec& spec);
/// Empty weights: 1.
std::vector<Element> combine(std::span<const Element> x, std::span<const std::int32_t> rows,
                             std::span<const Element> weights, std::int64_t tokens, std::int64_t width,
                             std::int64_t hidden);
/// factor * routed + shared; empty shared: 0.
std::vector<Element> scale_add(std::span<const Element> routed, std::span<const Element> shared, Element factor);
/// weights[t] * x[t].
std::vector<Element> weigh_rows(std::span<const Element> x, std::span<const Element> weights, std::int64_t hidden);

}  // namespace moediff::reference::algebra
