#include "harness/replay/alternatives.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace moediff {
namespace {

constexpr double kOut = -std::numeric_limits<double>::infinity();

/// What the choice of each expert counts as: the mask outside of the groups that the reference keeps.
std::vector<double> counted(const reference::Routing& routing, const reference::RouterConfig& config,
                            std::int64_t row) {
  const auto groups = routing.group_score.begin() + row * config.n_group;
  std::vector<std::int64_t> order(static_cast<std::size_t>(config.n_group));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return groups[a] > groups[b]; });
  std::vector<double> out(static_cast<std::size_t>(config.experts), config.policy.mask == MaskValue::zero ? 0.0 : kOut);
  const std::int64_t size = config.experts / config.n_group;
  for (std::int64_t kept = 0; kept < config.topk_group; ++kept) {
    const std::int64_t begin = order[static_cast<std::size_t>(kept)] * size;
    std::copy_n(routing.choice.begin() + row * config.experts + begin, size, out.begin() + begin);
  }
  return out;
}

/// Calls `take` with every choice of `count` of `from`, until it says no.
template <typename Take>
bool each_choice(const std::vector<std::int32_t>& from, std::size_t count, std::size_t begin,
                 std::vector<std::int32_t>& chosen, Take&& take) {
  if (count == 0) return take(chosen);
  for (std::size_t i = begin; i + count <= from.size(); ++i) {
    chosen.push_back(from[i]);
    if (!each_choice(from, count - 1, i + 1, chosen, take)) return false;
    chosen.pop_back();
  }
  return true;
}

std::vector<std::int32_t> sorted(std::vector<std::int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

std::vector<std::vector<std::int32_t>> alternatives(const reference::Routing& routing,
                                                    const reference::RouterConfig& config, std::int64_t row,
                                                    double tolerance, std::size_t limit) {
  const auto first = routing.ids.begin() + row * config.top_k;
  const std::vector<std::int32_t> ours(first, first + config.top_k);
  const std::vector<double> counts = counted(routing, config, row);
  double last = std::numeric_limits<double>::infinity(), scale = 1;
  for (const std::int32_t id : ours) last = std::min(last, counts[static_cast<std::size_t>(id)]);
  for (const double count : counts) scale = std::isfinite(count) ? std::max(scale, std::abs(count)) : scale;
  if (!std::isfinite(last)) return {ours};

  std::vector<std::int32_t> certain, tied;
  for (std::size_t e = 0; e < counts.size(); ++e) {
    if (counts[e] > last + tolerance * scale) certain.push_back(static_cast<std::int32_t>(e));
    if (std::abs(counts[e] - last) <= tolerance * scale) tied.push_back(static_cast<std::int32_t>(e));
  }
  std::vector<std::vector<std::int32_t>> sets{ours};
  std::vector<std::int32_t> chosen;
  const bool complete =
      each_choice(tied, ours.size() - certain.size(), 0, chosen, [&](const std::vector<std::int32_t>& some) {
        std::vector<std::int32_t> set = certain;
        set.insert(set.end(), some.begin(), some.end());
        if (sorted(set) != sorted(ours)) sets.push_back(std::move(set));
        return sets.size() <= limit;
      });
  return complete ? sets : std::vector<std::vector<std::int32_t>>{ours};
}

}  // namespace moediff
