// The stages of moe.cc once more, as uncertain values.
#include "harness/replay/moe_bound.h"

#include <numeric>

namespace moediff {
namespace {

using bounds::Uncertain;

/// Weight rows are taken as not exact: no sum is believed to be free of error.
constexpr int kNoGrid = -100000;

/// Activations of a product: numbers, or codes with their scales.
struct Operand {
  Uncertain values, scales;
  bool coded = false;
};

Operand operand(const Uncertain& x, std::int64_t rows, std::int64_t columns, const QuantSpec& quant) {
  if (quant.scheme == QuantScheme::none) return {x, {}, false};
  bounds::UncertainCodes codes = bounds::quantise(x, rows, columns, quant);
  return {std::move(codes.codes), std::move(codes.scales), true};
}

/// One matrix and the rows of the operand that it is applied to.
struct Part {
  const reference::Matrix* weight;
  std::vector<std::int32_t> source;
};

Uncertain product(const Operand& x, std::vector<Part> parts, const QuantSpec& quant, DType model) {
  const std::int64_t columns = parts.front().weight->k();
  const std::vector<int> no_grid(static_cast<std::size_t>(parts.front().weight->n()), kNoGrid);
  std::vector<bounds::LinearPart> linear_parts;
  for (Part& part : parts) linear_parts.push_back({part.weight, no_grid, std::move(part.source)});
  reference::Accumulation accumulation;
  bounds::Scales scales;
  if (x.coded) {
    accumulation.block = quant.group;
    accumulation.block_roundings = 2;  // with the scales of both sides
    scales = {&x.scales, reference::scale_groups(quant)};
  }
  const double underflow = static_cast<double>(columns) * 0x1p-150;
  Uncertain out = bounds::linear(x.values, scales, columns, linear_parts, accumulation, underflow);
  bounds::store(out, model);
  return out;
}

Uncertain activated(const Uncertain& gate_up, std::int64_t rows, std::int64_t inter, const MoeArithmetic& arithmetic,
                    const QuantSpec& quant) {
  ExpertPolicy policy;
  policy.activation = arithmetic.activation;
  const bool fused = quant.quantize_a2 == QuantizeA2::fused;
  Uncertain out = bounds::gated_activation(gate_up, rows, inter, policy, !fused, arithmetic.model);
  if (!fused) bounds::store(out, arithmetic.model);
  return out;
}

/// The rows of each expert that has any, one after another.
std::vector<Part> parts_of(const std::vector<reference::Matrix>& weights, const reference::Dispatch& sorted,
                           std::span<const std::int32_t> source) {
  std::vector<Part> parts;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const auto begin = source.begin() + sorted.offsets[e], end = source.begin() + sorted.offsets[e + 1];
    if (begin != end) parts.push_back({&weights[e], {begin, end}});
  }
  return parts;
}

std::vector<std::int32_t> counted(std::int64_t rows) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Uncertain routed_bound(const MoeWeights& weights, std::span<const double> x, std::span<const std::int32_t> ids,
                       const Uncertain& routing_weights, std::int64_t tokens, std::int64_t top_k,
                       const MoeArithmetic& arithmetic) {
  const QuantSpec& quant = arithmetic.quant;
  const std::int64_t rows = tokens * top_k;
  const reference::Dispatch sorted = reference::dispatch(ids, weights.experts);
  std::vector<std::int32_t> source = sorted.slots;
  for (std::int32_t& slot : source) slot /= static_cast<std::int32_t>(top_k);
  const Uncertain input = bounds::exact_values({x.begin(), x.end()});
  const Uncertain gate_up = product(operand(input, tokens, weights.hidden, quant),
                                    parts_of(weights.w13, sorted, source), quant, arithmetic.model);
  const Uncertain act = activated(gate_up, rows, weights.inter, arithmetic, quant);
  const Uncertain down = product(operand(act, rows, weights.inter, quant), parts_of(weights.w2, sorted, counted(rows)),
                                 quant, arithmetic.model);
  // Implementations add in fp32, or in the model dtype with every product rounded: the latter allows for both.
  const bool rounds_each = arithmetic.model != DType::f32;
  return bounds::combine(down, sorted.rows, &routing_weights, tokens, weights.hidden, rounds_each, arithmetic.model);
}

Uncertain shared_bound(const MoeWeights& weights, std::span<const double> x, std::int64_t tokens,
                       const MoeArithmetic& arithmetic) {
  const QuantSpec& quant = arithmetic.shared_quant;
  const Uncertain input = bounds::exact_values({x.begin(), x.end()});
  const Uncertain gate_up = product(operand(input, tokens, weights.hidden, quant),
                                    {{&weights.shared_w13, counted(tokens)}}, quant, arithmetic.model);
  const Uncertain act = activated(gate_up, tokens, weights.shared_inter, arithmetic, quant);
  return product(operand(act, tokens, weights.shared_inter, quant), {{&weights.shared_w2, counted(tokens)}}, quant,
                 arithmetic.model);
}

Uncertain logits_bound(const reference::Matrix& gate, std::span<const double> x, std::int64_t tokens, DType model) {
  return product({bounds::exact_values({x.begin(), x.end()}), {}, false}, {{&gate, counted(tokens)}}, {}, model);
}

Check compare_uncertain(const ExpectedTensor& expected, std::span<const double> values, std::int64_t rows,
                        const Uncertain& actual, const Rows& compared) {
  std::vector<double> bound(actual.size());
  for (std::size_t i = 0; i < bound.size(); ++i) bound[i] = bounds::statistical_bound(actual, i);
  const std::string note = std::to_string(actual.flippable) + " codes may round either way";
  return compare_bounded(expected, values, {actual.value, rows, compared, note}, bound);
}

}  // namespace moediff
