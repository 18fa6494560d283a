// Which experts a token takes. DeepSeek-V3 technical report, section 2.1.2: the topk_group groups with the largest sums
// of their two best choices take part (DeepSeek-V2: with the largest choice), and of their experts the top_k largest
// choices win. What the report leaves open is policy: experts of the groups that are out count as -inf
// (deepseek-ai/DeepSeek-V3, inference/model.py, class Gate) or as 0 (Hugging Face), where they can win against negative
// choices. Equal choices: the lower index first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/require.h"
#include "reference/router_parts.h"

namespace moediff::reference {
namespace {

constexpr double kOut = -std::numeric_limits<double>::infinity();

double nan_as_out(double value) { return std::isnan(value) ? kOut : value; }

/// Indices of the `count` largest values, in descending order; the lower index first on ties. Selection by repeated
/// maximum: short, and well-defined for any input without NaN.
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

double score_of_group(std::span<const double> choices, GroupScore kind) {
  double first = kOut, second = kOut;
  for (const double value : choices) {
    second = std::max(second, std::min(first, value));
    first = std::max(first, value);
  }
  return kind == GroupScore::max || choices.size() == 1 ? first : nan_as_out(first + second);
}

/// The choices of one token with every expert outside the best groups set to the mask.
std::vector<double> limit_to_groups(std::span<const double> choice, std::span<const double> group_score,
                                    const RouterConfig& config) {
  const std::size_t size = choice.size() / group_score.size();
  std::vector<double> limited(choice.size(), config.policy.mask == MaskValue::zero ? 0.0 : kOut);
  for (const std::int32_t group : largest(group_score, config.topk_group)) {
    const auto begin = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(group) * size);
    std::copy_n(choice.begin() + begin, size, limited.begin() + begin);
  }
  return limited;
}

}  // namespace

bool falls_back(std::span<const double> choice, const RouterConfig& config) {
  if (config.policy.not_finite != NotFinite::uniform) return false;
  return std::count_if(choice.begin(), choice.end(), [](double c) { return std::isfinite(c); }) < config.top_k;
}

void select(std::int64_t tokens, const RouterConfig& config, Routing& routing) {
  std::vector<double> choice(routing.choice.size());
  std::transform(routing.choice.begin(), routing.choice.end(), choice.begin(), nan_as_out);
  for (std::int64_t g = 0; g < tokens * config.n_group; ++g) {
    const std::int64_t size = config.experts / config.n_group;
    routing.group_score.push_back(score_of_group(row_of(choice, g, size), config.policy.group_score));
  }
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(config.top_k));
    if (falls_back(row_of(routing.choice, t, config.experts), config)) {
      std::iota(ids.begin(), ids.end(), 0);
    } else {
      ids = largest(
          limit_to_groups(row_of(choice, t, config.experts), row_of(routing.group_score, t, config.n_group), config),
          config.top_k);
    }
    routing.ids.insert(routing.ids.end(), ids.begin(), ids.end());
  }
}

}  // namespace moediff::reference
