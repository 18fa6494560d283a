// Arithmetic modulo the Mersenne prime p = 2^61 - 1: a product of two elements has 122 bits, and as 2^61 = 1 modulo p
// its upper and lower 61 bits are added. Inverses by Fermat: a^(p - 2). The stages follow kernels/abi/moediff_abi.h.
#include "reference/algebra.h"

#include <algorithm>

#include "reference/require.h"
#include "reference/scales.h"

namespace moediff::reference::algebra {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr int kBits = 61;

Element reduce(std::uint64_t below_two_p) { return below_two_p >= kPrime ? below_two_p - kPrime : below_two_p; }

Element at(std::span<const Element> values, std::int64_t index) { return values[static_cast<std::size_t>(index)]; }

}  // namespace

Element add(Element a, Element b) { return reduce(a + b); }

Element multiply(Element a, Element b) {
  const Wide product = static_cast<Wide>(a) * b;
  return reduce(static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> kBits));
}

Element inverse(Element a) {
  Element power = a, result = 1;
  for (Element exponent = kPrime - 2; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, power);
    power = multiply(power, power);
  }
  return result;
}

Element activation(ActivationKind kind, Element gate) {
  const auto i = static_cast<Element>(kind);
  const Element square = multiply(gate, gate);
  const Element cubic = add(multiply(square, gate), multiply(i + 2, square));
  return add(add(cubic, multiply(i + 5, gate)), 1);
}

Element scale_of_sum(Element sum) { return add(add(multiply(sum, sum), multiply(3, sum)), 7); }

std::vector<Element> gated_activation(ActivationKind kind, std::span<const Element> gate_up, std::int64_t rows,
                                      std::int64_t inter) {
  require(rows >= 0 && inter >= 0 && static_cast<std::int64_t>(gate_up.size()) == rows * 2 * inter,
          "gate_up must be [rows, 2 * inter]");
  std::vector<Element> out;
  for (std::int64_t i = 0; i < rows * inter; ++i) {
    const std::int64_t gate = i / inter * 2 * inter + i % inter;
    out.push_back(multiply(activation(kind, at(gate_up, gate)), at(gate_up, gate + inter)));
  }
  return out;
}

Quantised quantise(std::span<const Element> x, std::int64_t rows, std::int64_t columns, const QuantSpec& spec) {
  const ActivationScaleMap map(scale_groups(spec), rows, columns);
  require(static_cast<std::int64_t>(x.size()) == rows * columns, "x must be [rows, columns]");
  Quantised out;
  out.scale.resize(static_cast<std::size_t>(map.size()));
  const auto scale_of = [&](std::int64_t i) -> Element& {
    return out.scale[static_cast<std::size_t>(map(i / columns, i % columns))];
  };
  for (std::int64_t i = 0; i < rows * columns; ++i) scale_of(i) = add(scale_of(i), at(x, i));
  std::transform(out.scale.begin(), out.scale.end(), out.scale.begin(), scale_of_sum);
  std::vector<Element> inverses(out.scale.size());
  std::transform(out.scale.begin(), out.scale.end(), inverses.begin(), inverse);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    out.code.push_back(multiply(at(x, i), at(inverses, map(i / columns, i % columns))));
  }
  return out;
}

std::vector<Element> combine(std::span<const Element> x, std::span<const std::int32_t> rows,
                             std::span<const Element> weights, std::int64_t tokens, std::int64_t width,
                             std::int64_t hidden) {
  require(static_cast<std::int64_t>(rows.size()) == tokens * width, "rows must be [tokens, width]");
  require(weights.empty() || weights.size() == rows.size(), "weights must be [tokens, width]");
  const auto exists = [&](std::int32_t r) {
    return r >= 0 && (r + std::int64_t{1}) * hidden <= static_cast<std::int64_t>(x.size());
  };
  require(std::all_of(rows.begin(), rows.end(), exists), "rows must name rows of x");
  std::vector<Element> out(static_cast<std::size_t>(tokens * hidden));
  for (std::int64_t slot = 0; slot < tokens * width; ++slot) {
    const Element weight = weights.empty() ? 1 : at(weights, slot);
    for (std::int64_t h = 0; h < hidden; ++h) {
      Element& sum = out[static_cast<std::size_t>(slot / width * hidden + h)];
      sum = add(sum, multiply(weight, at(x, rows[static_cast<std::size_t>(slot)] * hidden + h)));
    }
  }
  return out;
}

std::vector<Element> scale_add(std::span<const Element> routed, std::span<const Element> shared, Element factor) {
  require(shared.empty() || shared.size() == routed.size(), "shared must have the size of routed");
  std::vector<Element> out;
  for (std::size_t i = 0; i < routed.size(); ++i) {
    out.push_back(add(multiply(factor, routed[i]), shared.empty() ? 0 : shared[i]));
  }
  return out;
}

std::vector<Element> weigh_rows(std::span<const Element> x, std::span<const Element> weights, std::int64_t hidden) {
  require(hidden >= 0 && x.size() == weights.size() * static_cast<std::size_t>(hidden), "x must be [weights, hidden]");
  std::vector<Element> out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back(multiply(weights[i / static_cast<std::size_t>(hidden)], x[i]));
  }
  return out;
}

}  // namespace moediff::reference::algebra
