// Scores of the experts. DeepSeek-V3 technical report, arXiv:2412.19437, section 2.1.2:
//   (15) s_{i,t} = Sigmoid(u_t . e_i); chosen by s_{i,t} + b_i
// DeepSeek-V2 (arXiv:2405.04434, section 2.1.2), Qwen3-MoE, Mixtral: softmax over all experts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/formats.h"
#include "reference/router_parts.h"

namespace moediff::reference {
namespace {

/// 1 / (1 + e^-x), without overflow and with full accuracy for negative x.
double sigmoid(double x) {
  if (x >= 0) return 1.0 / (1.0 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1.0 + e);
}

/// e^(x_i - max) / sum_j e^(x_j - max). One logit that is NaN or +inf makes the whole row NaN.
void softmax(std::span<const double> logits, std::span<double> out) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double x : logits) largest = std::max(largest, x);
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out[i] = std::exp(logits[i] - largest);
    sum += out[i];
  }
  for (double& value : out) value /= sum;
}

}  // namespace

double keep(double value, KeptIn kept, DType model) { return kept == KeptIn::model ? round_to(model, value) : value; }

std::vector<double> kept_bias(std::span<const double> bias, const RouterConfig& config) {
  std::vector<double> out(static_cast<std::size_t>(config.experts));
  for (std::size_t e = 0; e < bias.size(); ++e) out[e] = keep(bias[e], config.policy.bias_in, config.model);
  return out;
}

void score(std::span<const double> logits, std::span<const double> bias, const RouterConfig& config, Routing& routing) {
  const RouterPolicy& policy = config.policy;
  routing.exact_score.resize(logits.size());
  if (policy.scoring == Scoring::sigmoid) {
    std::transform(logits.begin(), logits.end(), routing.exact_score.begin(), sigmoid);
  } else {
    const std::int64_t tokens = static_cast<std::int64_t>(logits.size()) / config.experts;
    for (std::int64_t t = 0; t < tokens; ++t) {
      softmax(row_of(logits, t, config.experts), row_of(routing.exact_score, t, config.experts));
    }
  }
  const std::vector<double> added = kept_bias(bias, config);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    routing.score.push_back(keep(routing.exact_score[i], policy.scores_in, config.model));
    routing.choice.push_back(keep(routing.score[i] + added[i % added.size()], policy.choice_in, config.model));
  }
}

}  // namespace moediff::reference
