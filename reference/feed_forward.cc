// The two kinds of feed-forward block, composed of the stages of api.h.
#include "reference/decoder.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

std::vector<double> activated(ActivationKind kind, std::span<const double> gate_up, std::int64_t rows,
                              std::int64_t inter) {
  return gated_activation(kind, ExpertPolicy{}.limit, gate_up, rows, inter).value;
}

/// Weighted sum over the experts of each token.
std::vector<double> routed_sum(const Moe& weights, std::span<const double> x, std::int64_t rows,
                               const MoeTrace& trace) {
  const std::int64_t top_k = weights.router.top_k, hidden = weights.gate.k();
  const std::int64_t inter = weights.down.front().k();
  const Dispatch sorted = dispatch(trace.ids, weights.router.experts);
  std::vector<std::int32_t> source;
  for (const std::int32_t slot : sorted.slots) source.push_back(slot / static_cast<std::int32_t>(top_k));
  const std::vector<double> gate_up = grouped_linear(x, source, sorted.offsets, weights.gate_up).value;
  const std::vector<double> act = activated(weights.activation, gate_up, rows * top_k, inter);
  const std::vector<double> down = grouped_linear(act, {}, sorted.offsets, weights.down).value;
  return combine(down, sorted.rows, trace.weights, rows, top_k, hidden).value;
}

}  // namespace

std::vector<double> mlp(const Mlp& weights, std::span<const double> x, std::int64_t rows) {
  const std::vector<double> gate_up = linear(x, rows, weights.gate_up).value;
  return linear(activated(weights.activation, gate_up, rows, weights.down.k()), rows, weights.down).value;
}

MoeTrace moe(const Moe& weights, std::span<const double> x, std::int64_t rows, std::int64_t layer,
             std::int64_t first_position, const ChooseExperts& choose) {
  const auto experts = static_cast<std::size_t>(weights.router.experts);
  require(weights.gate_up.size() == experts && weights.down.size() == experts, "two matrices an expert");
  require(weights.shared.size() <= 1, "shared experts are one block");
  MoeTrace trace;
  trace.logits = linear(x, rows, weights.gate).value;
  const Routing routing = route(trace.logits, weights.bias, rows, weights.router);
  trace.ids = choose ? choose({layer, first_position, weights, trace.logits, routing}) : routing.ids;
  trace.weights = routing_weights(routing, weights.bias, trace.ids, rows, weights.router);
  trace.routed = routed_sum(weights, x, rows, trace);
  trace.out = trace.routed;
  if (weights.shared.empty()) return trace;
  trace.shared = mlp(weights.shared.front(), x, rows);
  for (std::size_t i = 0; i < trace.out.size(); ++i) trace.out[i] += trace.shared[i];
  return trace;
}

}  // namespace moediff::reference
