#include "harness/replay/moe.h"

#include <array>

#include "reference/formats.h"

namespace moediff {
namespace {

std::vector<double> stored(std::vector<double> values, DType model) {
  if (model == DType::f64) return values;
  for (double& value : values) value = reference::round_to(model, value);
  return values;
}

/// What a product reads: the values themselves, or what their codes stand for.
std::vector<double> operand(std::span<const double> x, std::int64_t rows, std::int64_t columns, const QuantSpec& spec) {
  if (spec.scheme == QuantScheme::none) return {x.begin(), x.end()};
  return quantised_values(x, rows, columns, spec);
}

/// [rows, 2 inter] to [rows, inter].
std::vector<double> activated(std::span<const double> gate_up, std::int64_t rows, std::int64_t inter,
                              const MoeArithmetic& arithmetic, const QuantSpec& quant) {
  const reference::Activation parts =
      reference::gated_activation(arithmetic.activation, ExpertPolicy{}.limit, gate_up, rows, inter);
  if (arithmetic.model == DType::f64) return parts.value;
  if (quant.quantize_a2 == QuantizeA2::fused) return stored(parts.value, DType::f32);
  std::vector<double> out = stored(parts.act, arithmetic.model);  // the activated gate is rounded, then the product
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= parts.factor[i];
  return stored(std::move(out), arithmetic.model);
}

}  // namespace

std::vector<double> quantised_values(std::span<const double> x, std::int64_t rows, std::int64_t columns,
                                     const QuantSpec& spec) {
  const reference::Quantised quantised = reference::quantise(x, rows, columns, spec);
  std::vector<double> values = reference::spread_scales(quantised.scale, rows, columns, reference::scale_groups(spec));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= quantised.code[i];
  return values;
}

std::vector<double> sum(std::span<const double> a, std::span<const double> b, DType model) {
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < b.size(); ++i) out[i] += b[i];
  return stored(std::move(out), model);
}

Routed routed_experts(const MoeWeights& weights, std::span<const double> x, std::span<const std::int32_t> ids,
                      std::span<const double> routing_weights, std::int64_t tokens, std::int64_t top_k,
                      const MoeArithmetic& arithmetic) {
  const std::int64_t hidden = weights.hidden, rows = tokens * top_k;
  const reference::Dispatch sorted = reference::dispatch(ids, weights.experts);
  std::vector<double> input = operand(x, tokens, hidden, arithmetic.quant);
  std::vector<std::int32_t> source = sorted.slots;
  if (arithmetic.weigh_input) {  // one row a slot instead of one a token
    std::vector<double> weighted;
    for (std::int64_t i = 0; i < rows * hidden; ++i) {
      const std::int64_t slot = i / hidden, token = slot / top_k;
      weighted.push_back(routing_weights[static_cast<std::size_t>(slot)] *
                         input[static_cast<std::size_t>(token * hidden + i % hidden)]);
    }
    input = std::move(weighted);
  } else {
    for (std::int32_t& slot : source) slot /= static_cast<std::int32_t>(top_k);
  }
  const std::vector<double> gate_up =
      stored(reference::grouped_linear(input, source, sorted.offsets, weights.w13).value, arithmetic.model);
  const std::vector<double> act = operand(activated(gate_up, rows, weights.inter, arithmetic, arithmetic.quant), rows,
                                          weights.inter, arithmetic.quant);
  const std::vector<double> down =
      stored(reference::grouped_linear(act, {}, sorted.offsets, weights.w2).value, arithmetic.model);

  Routed out;
  for (const std::int32_t row : sorted.rows) {
    out.expert_out.insert(out.expert_out.end(), down.begin() + row * hidden, down.begin() + (row + 1) * hidden);
  }
  const std::span<const double> none;
  const std::span<const double> slot_weights = arithmetic.weigh_input ? none : routing_weights;
  out.routed_out =
      stored(reference::combine(down, sorted.rows, slot_weights, tokens, top_k, hidden).value, arithmetic.model);
  return out;
}

std::vector<double> shared_experts(const MoeWeights& weights, std::span<const double> x, std::int64_t tokens,
                                   const MoeArithmetic& arithmetic) {
  const std::vector<double> input = operand(x, tokens, weights.hidden, arithmetic.shared_quant);
  const std::vector<double> gate_up =
      stored(reference::linear(input, tokens, weights.shared_w13).value, arithmetic.model);
  const std::vector<double> act =
      operand(activated(gate_up, tokens, weights.shared_inter, arithmetic, arithmetic.shared_quant), tokens,
              weights.shared_inter, arithmetic.shared_quant);
  return stored(reference::linear(act, tokens, weights.shared_w2).value, arithmetic.model);
}

}  // namespace moediff
