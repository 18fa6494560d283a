// DeepSeek-V3's gate without auxiliary loss ("noaux_tc").
//
// DeepSeek-V3 technical report, arXiv:2412.19437, section 2.1.2:
//   (15) s_{i,t} = Sigmoid(u_t . e_i)
//   (14), (16) g'_{i,t} = s_{i,t} if s_{i,t} + b_i is among the K_r largest of { s_{j,t} + b_j }, otherwise 0
//   (13) g_{i,t} = g'_{i,t} / sum_j g'_{j,t}
// and the limit to M nodes: only the topk_group groups with the largest sums of their two best s + b take part.
// The code of the model (deepseek-ai/DeepSeek-V3, inference/model.py, class Gate) fixes what the report leaves open:
// groups that are out count as -inf, the sum has no epsilon, and the weights are multiplied by routed_scaling_factor.
// Hugging Face differs in the first two (0.0 and 1e-20), which matters only when sums underflow or few scores are
// positive.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/api.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

constexpr double kOut = -std::numeric_limits<double>::infinity();

/// 1 / (1 + e^-x), without overflow and with full accuracy for negative x.
double sigmoid(double x) {
  if (x >= 0) return 1.0 / (1.0 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1.0 + e);
}

/// Indices of the `count` largest values, in descending order; the lower index first on ties. Selection by repeated
/// maximum: short, and well-defined for any input.
std::vector<std::int32_t> largest(std::span<const double> values, std::int64_t count) {
  std::vector<bool> taken(values.size());
  std::vector<std::int32_t> order;
  while (static_cast<std::int64_t>(order.size()) < count) {
    std::size_t best = values.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!taken[i] && (best == values.size() || values[i] > values[best])) best = i;
    }
    taken[best] = true;
    order.push_back(static_cast<std::int32_t>(best));
  }
  return order;
}

double sum_of_two_largest(std::span<const double> values) {
  double first = kOut, second = kOut;
  for (const double value : values) {
    second = std::max(second, std::min(first, value));
    first = std::max(first, value);
  }
  return values.size() == 1 ? first : first + second;
}

/// The choices of one token with every expert outside the best groups set to -inf.
std::vector<double> limit_to_groups(std::span<const double> choice, std::span<const double> group_score,
                                    std::int64_t topk_group) {
  const std::size_t size = choice.size() / group_score.size();
  std::vector<double> limited(choice.size(), kOut);
  for (const std::int32_t group : largest(group_score, topk_group)) {
    const std::size_t begin = static_cast<std::size_t>(group) * size;
    std::copy_n(choice.begin() + static_cast<std::ptrdiff_t>(begin), size,
                limited.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return limited;
}

/// Rows of a [rows, width] array.
template <typename T>
std::span<T> row(std::vector<T>& values, std::int64_t index, std::int64_t width) {
  return std::span(values).subspan(static_cast<std::size_t>(index * width), static_cast<std::size_t>(width));
}

void check(const RouterConfig& c) {
  require(c.experts > 0 && c.n_group > 0 && c.experts % c.n_group == 0, "n_group must divide experts");
  require(0 < c.topk_group && c.topk_group <= c.n_group, "topk_group must be from 1 to n_group");
  require(0 < c.top_k && c.top_k <= c.topk_group * (c.experts / c.n_group),
          "top_k must not exceed the experts of topk_group groups");
}

}  // namespace

Routing route(std::span<const double> logits, std::span<const double> bias, std::int64_t tokens,
              const RouterConfig& config) {
  check(config);
  require(static_cast<std::int64_t>(logits.size()) == tokens * config.experts, "logits must be [tokens, experts]");
  require(static_cast<std::int64_t>(bias.size()) == config.experts, "bias must be [experts]");
  const std::int64_t group_size = config.experts / config.n_group;
  Routing out;
  out.score.resize(logits.size());
  out.choice.resize(logits.size());
  out.group_score.resize(static_cast<std::size_t>(tokens * config.n_group));
  std::transform(logits.begin(), logits.end(), out.score.begin(), sigmoid);
  for (std::size_t i = 0; i < out.choice.size(); ++i) out.choice[i] = out.score[i] + bias[i % bias.size()];
  for (std::int64_t g = 0; g < tokens * config.n_group; ++g) {
    out.group_score[static_cast<std::size_t>(g)] = sum_of_two_largest(row(out.choice, g, group_size));
  }
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::vector<double> limited =
        limit_to_groups(row(out.choice, t, config.experts), row(out.group_score, t, config.n_group), config.topk_group);
    const std::vector<std::int32_t> ids = largest(limited, config.top_k);
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
  }
  out.weights = routing_weights(out.score, out.ids, tokens, config);
  return out;
}

std::vector<double> routing_weights(std::span<const double> score, std::span<const std::int32_t> ids,
                                    std::int64_t tokens, const RouterConfig& config) {
  require(static_cast<std::int64_t>(score.size()) == tokens * config.experts, "score must be [tokens, experts]");
  require(static_cast<std::int64_t>(ids.size()) == tokens * config.top_k, "ids must be [tokens, top_k]");
  const auto exists = [&](std::int32_t id) { return 0 <= id && id < config.experts; };
  require(std::all_of(ids.begin(), ids.end(), exists), "ids must name experts");
  std::vector<double> weights(ids.size());
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::span<double> chosen = row(weights, t, config.top_k);
    double sum = 0;
    for (std::int64_t j = 0; j < config.top_k; ++j) {
      const std::int32_t id = ids[static_cast<std::size_t>(t * config.top_k + j)];
      chosen[static_cast<std::size_t>(j)] = score[static_cast<std::size_t>(t * config.experts + id)];
      sum += chosen[static_cast<std::size_t>(j)];
    }
    for (double& weight : chosen) weight = (config.norm_topk_prob ? weight / sum : weight) * config.factor;
  }
  return weights;
}

}  // namespace moediff::reference
