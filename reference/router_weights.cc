// Weights of the chosen experts. DeepSeek-V3 technical report, section 2.1.2:
//   (13) g_{i,t} = g'_{i,t} / sum_j g'_{j,t}
// times routed_scaling_factor. DeepSeek's code adds no epsilon to the sum, Hugging Face's adds 1e-20; the difference
// matters only when sums underflow.
#include <algorithm>

#include "reference/formats.h"
#include "reference/require.h"
#include "reference/router_parts.h"

namespace moediff::reference {
namespace {

/// The score that becomes the weight of expert `i` of [T, E], before normalisation.
double raw_weight(const Routing& routing, std::span<const double> bias, std::size_t i, WeightSource source) {
  switch (source) {
    case WeightSource::score:
      return routing.score[i];
    case WeightSource::fresh_score:
      return routing.exact_score[i];
    case WeightSource::choice_minus_bias:
      break;
  }
  return round_to(DType::f32, round_to(DType::f32, routing.choice[i]) - bias[i % bias.size()]);
}

void normalise(std::span<double> weights, double epsilon) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum + epsilon;
}

}  // namespace

std::vector<double> routing_weights(const Routing& routing, std::span<const double> bias,
                                    std::span<const std::int32_t> ids, std::int64_t tokens,
                                    const RouterConfig& config) {
  check(config);
  const auto scores = static_cast<std::size_t>(tokens * config.experts);
  require(routing.score.size() == scores && routing.exact_score.size() == scores && routing.choice.size() == scores,
          "scores must be [tokens, experts]");
  require(bias.empty() || static_cast<std::int64_t>(bias.size()) == config.experts, "bias must be [experts]");
  require(static_cast<std::int64_t>(ids.size()) == tokens * config.top_k, "ids must be [tokens, top_k]");
  const auto exists = [&](std::int32_t id) { return 0 <= id && id < config.experts; };
  require(std::all_of(ids.begin(), ids.end(), exists), "ids must name experts");
  const std::vector<double> added = kept_bias(bias, config);
  std::vector<double> weights;
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<double> chosen;
    for (const std::int32_t id : row_of(ids, t, config.top_k)) {
      const auto i = static_cast<std::size_t>(t * config.experts + id);
      chosen.push_back(raw_weight(routing, added, i, config.policy.weight_from));
    }
    if (config.norm_topk_prob) normalise(chosen, config.policy.norm_epsilon);
    for (double& weight : chosen) weight *= config.factor;
    if (falls_back(row_of(std::span(routing.choice), t, config.experts), config)) {
      std::fill(chosen.begin(), chosen.end(), 1.0 / static_cast<double>(config.top_k));
    }
    for (const double weight : chosen) weights.push_back(keep(weight, config.policy.weights_in, config.model));
  }
  return weights;
}

}  // namespace moediff::reference
