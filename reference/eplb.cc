// Three steps (EPLB README, "hierarchical load balancing"): groups of experts to nodes, replicas within each node, and
// replicas to the GPUs of the node. The global policy is the same with one group and one node.
#include "reference/eplb.h"

#include <algorithm>
#include <numeric>

#include "reference/require.h"

namespace moediff::reference {
namespace {

using Indices = std::vector<std::int64_t>;

/// Where items go: pack and place in it.
struct Packing {
  Indices pack, rank;
};

/// Equally many items a pack, with sums as equal as a greedy choice makes them: the heaviest item first, each to the
/// lightest pack that has room. One item a pack: item i to pack i.
Packing pack(std::span<const float> weights, std::int64_t packs) {
  const auto items = static_cast<std::int64_t>(weights.size());
  const std::int64_t room = items / packs;
  Indices order(weights.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (room == 1) return {order, Indices(weights.size(), 0)};
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return weights[static_cast<std::size_t>(a)] > weights[static_cast<std::size_t>(b)];
  });
  Packing out{Indices(weights.size()), Indices(weights.size())};
  std::vector<float> sums(static_cast<std::size_t>(packs));
  Indices filled(static_cast<std::size_t>(packs));
  for (const std::int64_t item : order) {
    std::size_t lightest = sums.size();
    for (std::size_t p = 0; p < sums.size(); ++p) {
      if (filled[p] < room && (lightest == sums.size() || sums[p] < sums[lightest])) lightest = p;
    }
    out.pack[static_cast<std::size_t>(item)] = static_cast<std::int64_t>(lightest);
    out.rank[static_cast<std::size_t>(item)] = filled[lightest]++;
    sums[lightest] += weights[static_cast<std::size_t>(item)];
  }
  return out;
}

/// Experts, then replicas of whichever has the largest load a replica.
struct Replicas {
  Indices expert, rank;  ///< of each replica
  Indices count;         ///< of each expert
};
Replicas replicate(std::span<const float> loads, std::int64_t total) {
  Replicas out{Indices(loads.size()), Indices(loads.size(), 0), Indices(loads.size(), 1)};
  std::iota(out.expert.begin(), out.expert.end(), std::int64_t{0});
  while (static_cast<std::int64_t>(out.expert.size()) < total) {
    std::size_t busiest = 0;
    const auto share = [&](std::size_t e) { return loads[e] / static_cast<float>(out.count[e]); };
    for (std::size_t e = 1; e < loads.size(); ++e) {
      if (share(e) > share(busiest)) busiest = e;
    }
    out.expert.push_back(static_cast<std::int64_t>(busiest));
    out.rank.push_back(out.count[busiest]++);
  }
  return out;
}

/// Experts in the order of the nodes that their groups go to.
Indices order_by_node(std::span<const float> loads, const EplbShape& shape) {
  const std::size_t size = loads.size() / static_cast<std::size_t>(shape.groups);
  std::vector<float> sums;
  for (std::size_t begin = 0; begin < loads.size(); begin += size) {
    sums.push_back(std::accumulate(loads.begin() + static_cast<std::ptrdiff_t>(begin),
                                   loads.begin() + static_cast<std::ptrdiff_t>(begin + size), 0.0f));
  }
  const Packing packing = pack(sums, shape.nodes);
  Indices order(loads.size());
  for (std::size_t e = 0; e < loads.size(); ++e) {
    const std::size_t group = e / size;
    const std::int64_t place = packing.pack[group] * (shape.groups / shape.nodes) + packing.rank[group];
    order[static_cast<std::size_t>(place) * size + e % size] = static_cast<std::int64_t>(e);
  }
  return order;
}

/// Fills the slots of one node from `first_slot` on with its experts.
void place_on_node(std::span<const float> loads, std::span<const std::int64_t> experts, const EplbShape& shape,
                   std::int64_t first_slot, Placement& placement) {
  std::vector<float> own;
  for (const std::int64_t e : experts) own.push_back(loads[static_cast<std::size_t>(e)]);
  const std::int64_t slots = shape.slots / shape.nodes, gpus = shape.gpus / shape.nodes;
  const Replicas replicas = replicate(own, slots);
  std::vector<float> shares;
  for (const std::int64_t e : replicas.expert) {
    shares.push_back(own[static_cast<std::size_t>(e)] /
                     static_cast<float>(replicas.count[static_cast<std::size_t>(e)]));
  }
  const Packing packing = pack(shares, gpus);
  for (std::size_t i = 0; i < shares.size(); ++i) {  // by rank within each expert, as replicas were made in that order
    const std::int64_t slot = first_slot + packing.pack[i] * (slots / gpus) + packing.rank[i];
    const std::int64_t expert = experts[static_cast<std::size_t>(replicas.expert[i])];
    placement.expert_of_slot[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(expert);
    placement.slots_of_expert[static_cast<std::size_t>(expert)].push_back(static_cast<std::int32_t>(slot));
  }
}

void check(std::int64_t experts, const EplbShape& shape) {
  require(experts > 0 && shape.groups > 0 && shape.nodes > 0 && shape.gpus > 0, "sizes must be positive");
  require(experts % shape.groups == 0, "experts must be a multiple of groups");
  require(shape.gpus % shape.nodes == 0, "gpus must be a multiple of nodes");
  require(shape.slots % shape.gpus == 0 && shape.slots >= experts, "slots must be a multiple of gpus that holds all");
}

}  // namespace

Placement place_experts(std::span<const float> loads, const EplbShape& asked) {
  EplbShape shape = asked;
  if (!is_hierarchical(shape)) shape.groups = shape.nodes = 1;
  check(static_cast<std::int64_t>(loads.size()), shape);
  const Indices order = order_by_node(loads, shape);
  const std::size_t per_node = order.size() / static_cast<std::size_t>(shape.nodes);
  Placement placement;
  placement.expert_of_slot.resize(static_cast<std::size_t>(shape.slots));
  placement.slots_of_expert.resize(loads.size());
  for (std::int64_t node = 0; node < shape.nodes; ++node) {
    place_on_node(loads, std::span(order).subspan(static_cast<std::size_t>(node) * per_node, per_node), shape,
                  node * (shape.slots / shape.nodes), placement);
  }
  return placement;
}

std::vector<std::int32_t> keep_slots(std::span<const std::int32_t> expert_of_slot,
                                     std::span<const std::int32_t> old_expert_of_slot, std::int64_t gpus) {
  require(expert_of_slot.size() == old_expert_of_slot.size(), "both placements must have the same slots");
  require(gpus > 0 && expert_of_slot.size() % static_cast<std::size_t>(gpus) == 0, "slots must be a multiple of gpus");
  const std::size_t room = expert_of_slot.size() / static_cast<std::size_t>(gpus);
  std::vector<std::int32_t> kept(expert_of_slot.size(), -1);
  for (std::size_t begin = 0; begin < kept.size(); begin += room) {
    std::vector<std::int32_t> coming(expert_of_slot.begin() + static_cast<std::ptrdiff_t>(begin),
                                     expert_of_slot.begin() + static_cast<std::ptrdiff_t>(begin + room));
    for (std::size_t slot = begin; slot < begin + room; ++slot) {
      const auto same = std::find(coming.begin(), coming.end(), old_expert_of_slot[slot]);
      if (same == coming.end()) continue;
      kept[slot] = *same;
      coming.erase(same);
    }
    for (std::size_t slot = begin; slot < begin + room; ++slot) {
      if (kept[slot] >= 0) continue;
      kept[slot] = coming.front();
      coming.erase(coming.begin());
    }
  }
  return kept;
}

}  // namespace moediff::reference
