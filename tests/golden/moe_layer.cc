// Loading and composing a layer; the comparison.
#include "tests/golden/moe_layer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace moediff {
namespace {

/// The ids of each row in ascending order.
std::vector<std::int32_t> sorted_rows(std::vector<std::int32_t> ids, std::int64_t width) {
  for (auto row = ids.begin(); row != ids.end(); row += width) std::sort(row, row + width);
  return ids;
}

std::vector<double> concatenated(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// gate_proj and up_proj of one MLP stacked, as the candidates keep them.
reference::Matrix load_w13(const SafetensorsFile& file, const std::string& mlp, std::int64_t inter,
                           std::int64_t hidden) {
  const std::vector<double> gate = doubles(file, mlp + "gate_proj.weight", {inter, hidden});
  const std::vector<double> up = doubles(file, mlp + "up_proj.weight", {inter, hidden});
  return {concatenated(gate, up), 2 * inter, hidden};
}

reference::Matrix load_w2(const SafetensorsFile& file, const std::string& mlp, std::int64_t inter,
                          std::int64_t hidden) {
  return {doubles(file, mlp + "down_proj.weight", {hidden, inter}), hidden, inter};
}

}  // namespace

std::vector<double> doubles(const SafetensorsFile& file, const std::string& name, const Shape& shape) {
  return to_doubles(file.read(name, shape));
}

std::vector<std::int32_t> integers(const SafetensorsFile& file, const std::string& name, const Shape& shape) {
  const Tensor tensor = file.read(name, shape);
  const std::span<const std::int32_t> values = tensor.as<std::int32_t>();
  return {values.begin(), values.end()};
}

LayerConfig config_of(const SafetensorsFile& file) {
  const auto text = [&](const char* key) { return file.metadata().at(std::string("cfg.") + key); };
  const auto number = [&](const char* key) { return std::stoll(text(key)); };
  return {.hidden = number("hidden_size"),
          .inter = number("moe_intermediate_size"),
          .experts = number("n_routed_experts"),
          .top_k = number("num_experts_per_tok"),
          .n_group = number("n_group"),
          .topk_group = number("topk_group"),
          .n_shared = number("n_shared_experts"),
          .norm_topk_prob = text("norm_topk_prob") == "true",
          .factor = std::stod(text("routed_scaling_factor"))};
}

reference::RouterConfig router_config(const LayerConfig& c) {
  return {c.experts, c.top_k, c.n_group, c.topk_group, c.norm_topk_prob, c.factor};
}

reference::Matrix load_gate(const SafetensorsFile& file, const std::string& prefix, const LayerConfig& c) {
  return {doubles(file, prefix + "gate.weight", {c.experts, c.hidden}), c.experts, c.hidden};
}

LayerWeights load_layer(const SafetensorsFile& file, const std::string& prefix, const LayerConfig& c) {
  LayerWeights weights;
  weights.gate = load_gate(file, prefix, c);
  weights.bias = doubles(file, prefix + "gate.e_score_correction_bias", {c.experts});
  for (std::int64_t e = 0; e < c.experts; ++e) {
    const std::string expert = prefix + "experts." + std::to_string(e) + ".";
    weights.w13.push_back(load_w13(file, expert, c.inter, c.hidden));
    weights.w2.push_back(load_w2(file, expert, c.inter, c.hidden));
  }
  weights.shared_w13 = load_w13(file, prefix + "shared_experts.", c.n_shared * c.inter, c.hidden);
  weights.shared_w2 = load_w2(file, prefix + "shared_experts.", c.n_shared * c.inter, c.hidden);
  return weights;
}

LayerOutput run_routed(const LayerWeights& weights, const std::vector<double>& x, std::int64_t tokens,
                       const LayerConfig& c) {
  LayerOutput out;
  out.router_logits = reference::linear(x, tokens, weights.gate).value;
  const reference::Routing routing = reference::route(out.router_logits, weights.bias, tokens, router_config(c));
  out.topk_ids = sorted_rows(routing.ids, c.top_k);
  out.topk_weights = reference::routing_weights(routing.score, out.topk_ids, tokens, router_config(c));

  const reference::Dispatch sorted = reference::dispatch(out.topk_ids, c.experts);
  std::vector<std::int32_t> token_of_row;
  for (const std::int32_t slot : sorted.slots) token_of_row.push_back(slot / static_cast<std::int32_t>(c.top_k));
  const reference::Terms gate_up = reference::grouped_linear(x, token_of_row, sorted.offsets, weights.w13);
  const reference::Activation act = reference::silu_and_mul(gate_up.value, tokens * c.top_k, c.inter);
  const reference::Terms down = reference::grouped_linear(act.value, {}, sorted.offsets, weights.w2);
  for (const std::int32_t row : sorted.rows) {
    out.expert_out.insert(out.expert_out.end(), down.value.begin() + row * c.hidden,
                          down.value.begin() + (row + 1) * c.hidden);
  }
  out.routed_out = reference::combine(down.value, sorted.rows, out.topk_weights, tokens, c.top_k, c.hidden).value;
  return out;
}

std::vector<double> run_shared(const LayerWeights& weights, const std::vector<double>& x, std::int64_t tokens,
                               const LayerConfig& c) {
  const reference::Terms gate_up = reference::linear(x, tokens, weights.shared_w13);
  const reference::Activation act = reference::silu_and_mul(gate_up.value, tokens, c.n_shared * c.inter);
  return reference::linear(act.value, tokens, weights.shared_w2).value;
}

std::vector<double> sum(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out;
  std::transform(a.begin(), a.end(), b.begin(), std::back_inserter(out), std::plus<>());
  return out;
}

testing::AssertionResult agree(const std::vector<double>& actual, const std::vector<double>& expected,
                               double tolerance) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " elements instead of " << expected.size();
  }
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(actual[i])) return testing::AssertionFailure() << "element " << i << " is " << actual[i];
    largest = std::max(largest, std::fabs(expected[i]));
    difference = std::max(difference, std::fabs(actual[i] - expected[i]));
  }
  if (!(largest > 0)) return testing::AssertionFailure() << "nothing to compare: empty or all zero";
  if (difference <= tolerance * largest) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "largest difference " << difference << " is " << difference / largest
                                     << " of the largest value, more than " << tolerance;
}

}  // namespace moediff
