// The reference's placement is stable: equal loads in ascending order. Other balancers take them as they come, which
// can move experts, but neither the number of replicas nor the load of the busiest GPU.
#include "harness/replay/eplb_kind.h"

#include <algorithm>

#include "harness/replay/compare.h"
#include "harness/replay/eplb_file.h"

namespace moediff {
namespace {

constexpr std::string_view kStable = "_stable_sort";
constexpr Rule kLoadRule{Measure::of_largest, 1e-12};

struct Placed {
  std::vector<reference::Placement> layers;
};

Placed place(const EplbCase& c) {
  Placed out;
  for (const std::vector<double>& loads : c.loads) {
    out.layers.push_back(reference::place_experts(std::vector<float>(loads.begin(), loads.end()), c.shape));
  }
  return out;
}

std::vector<double> flat(const Table& table) {
  std::vector<double> out;
  for (const std::vector<std::int32_t>& row : table) out.insert(out.end(), row.begin(), row.end());
  return out;
}

Table slots_to_experts(const Placed& placed) {
  Table out;
  for (const reference::Placement& layer : placed.layers) out.push_back(layer.expert_of_slot);
  return out;
}

/// Replicas of each expert [layers][experts].
Table counts(const Table& phy2log, std::int64_t experts) {
  Table out;
  for (const std::vector<std::int32_t>& layer : phy2log) {
    out.emplace_back(static_cast<std::size_t>(experts));
    for (const std::int32_t expert : layer) ++out.back()[static_cast<std::size_t>(expert)];
  }
  return out;
}

/// The load of the busiest GPU of each layer, an expert's load shared equally by its replicas.
std::vector<double> largest_loads(const Table& phy2log, const EplbCase& c) {
  const Table count = counts(phy2log, c.experts());
  const auto per_gpu = static_cast<std::size_t>(c.shape.slots / c.shape.gpus);
  std::vector<double> out;
  for (std::size_t layer = 0; layer < phy2log.size(); ++layer) {
    out.push_back(0);
    for (std::size_t begin = 0; begin < phy2log[layer].size(); begin += per_gpu) {
      double load = 0;
      for (std::size_t slot = begin; slot < begin + per_gpu; ++slot) {
        const auto expert = static_cast<std::size_t>(phy2log[layer][slot]);
        load += c.loads[layer][expert] / count[layer][expert];
      }
      out.back() = std::max(out.back(), load);
    }
  }
  return out;
}

/// Slots of each expert, padded with -1 to one width; sorted where their order means nothing.
std::vector<double> padded(std::vector<Table> log2phy, std::size_t width, bool ordered) {
  std::vector<double> out;
  for (Table& layer : log2phy) {
    for (std::vector<std::int32_t>& slots : layer) {
      slots.resize(width, -1);
      if (!ordered) std::sort(slots.begin(), slots.end());
      out.insert(out.end(), slots.begin(), slots.end());
    }
  }
  return out;
}

std::size_t widest(const std::vector<Table>& log2phy) {
  std::size_t width = 0;
  for (const Table& layer : log2phy) {
    for (const std::vector<std::int32_t>& slots : layer) width = std::max(width, slots.size());
  }
  return width;
}

/// Slots that break a rule of placement: every expert has one, slots and experts know each other, and groups stay on
/// one node.
std::int64_t violations(const reference::Placement& placement, const EplbCase& c) {
  const std::int64_t per_node = c.shape.slots / c.shape.nodes, group = c.experts() / c.shape.groups;
  std::vector<std::int64_t> node_of_group(static_cast<std::size_t>(c.shape.groups), -1);
  std::int64_t wrong = 0, named = 0;
  for (std::int64_t e = 0; e < c.experts(); ++e) {
    const std::vector<std::int32_t>& slots = placement.slots_of_expert[static_cast<std::size_t>(e)];
    wrong += slots.empty();
    named += static_cast<std::int64_t>(slots.size());
    for (const std::int32_t slot : slots) {
      std::int64_t& node = node_of_group[static_cast<std::size_t>(e / group)];
      if (node < 0) node = slot / per_node;
      wrong += placement.expert_of_slot[static_cast<std::size_t>(slot)] != e || node != slot / per_node;
    }
  }
  return wrong + std::abs(c.shape.slots - named);
}

Check check_validity(const EplbCase& c, const Placed& placed) {
  Check check;
  check.name = "validity";
  check.expected = c.name;
  check.rule = "slots that break a rule of placement";
  for (const reference::Placement& layer : placed.layers) {
    check.measured += static_cast<double>(violations(layer, c));
    check.compared += c.shape.slots;
  }
  check.pass = check.measured == 0;
  return check;
}

/// The checks of one oracle.
class OracleChecks {
 public:
  OracleChecks(const EplbCase& c, const EplbOracle& oracle, const Placed& placed)
      : c_(c), oracle_(oracle), placed_(placed), phy2log_(slots_to_experts(placed)) {}

  std::vector<Check> run() const {
    std::vector<Check> checks;
    if (must_be_equal()) checks.push_back(exactly("phy2log", flat(oracle_.phy2log), flat(phy2log_)));
    if (must_be_equal() && !oracle_.log2phy.empty()) checks.push_back(check_log2phy());
    const Table count = counts(oracle_.phy2log, c_.experts());
    checks.push_back(
        exactly("logcnt", flat(oracle_.logcnt.empty() ? count : oracle_.logcnt), flat(counts(phy2log_, c_.experts()))));
    const bool stated = !oracle_.max_gpu_load.empty();
    checks.push_back(compare_values(named("max_gpu_load"),
                                    stated ? oracle_.max_gpu_load : largest_loads(oracle_.phy2log, c_),
                                    {largest_loads(phy2log_, c_), layers()}, kLoadRule));
    return checks;
  }

 private:
  bool is_stable() const {
    return oracle_.name.size() > kStable.size() &&
           oracle_.name.compare(oracle_.name.size() - kStable.size(), kStable.size(), kStable) == 0;
  }
  bool must_be_equal() const {
    return c_.tie_free || is_stable() || std::all_of(c_.oracles.begin(), c_.oracles.end(), [&](const EplbOracle& one) {
             return one.phy2log == oracle_.phy2log;
           });
  }

  std::int64_t layers() const { return static_cast<std::int64_t>(placed_.layers.size()); }
  ExpectedTensor named(const char* what) const {
    return {c_.name + "." + oracle_.name + "." + what, oracle_.name, "f64", what};
  }
  Check exactly(const char* what, const std::vector<double>& expected, const std::vector<double>& actual) const {
    return compare_exactly(named(what), expected, actual);
  }

  /// Which replica comes first is a tie, so that only a stable balancer must agree.
  Check check_log2phy() const {
    std::vector<Table> ours;
    for (const reference::Placement& layer : placed_.layers) ours.push_back(layer.slots_of_expert);
    const std::size_t width = std::max(widest(ours), widest(oracle_.log2phy));
    return exactly("log2phy", padded(oracle_.log2phy, width, is_stable()), padded(ours, width, is_stable()));
  }

  const EplbCase& c_;
  const EplbOracle& oracle_;
  const Placed& placed_;
  Table phy2log_;
};

Check check_preserve(const EplbCase& c, const EplbPreserve& one) {
  const auto oracle = std::find_if(c.oracles.begin(), c.oracles.end(),
                                   [&](const EplbOracle& candidate) { return candidate.name == one.oracle; });
  Table kept;
  for (std::size_t layer = 0; layer < one.phy2log.size(); ++layer) {
    kept.push_back(reference::keep_slots(oracle->phy2log[layer], one.old_phy2log[layer], c.shape.gpus));
  }
  return compare_exactly({c.name + "." + one.name + ".phy2log", one.name, "f64", "phy2log"}, flat(one.phy2log),
                         flat(kept));
}

}  // namespace

std::vector<Check> replay_eplb(const std::string& path) {
  std::vector<Check> checks;
  for (const EplbCase& c : read_eplb_file(path)) {
    const Placed placed = place(c);
    checks.push_back(check_validity(c, placed));
    for (const EplbOracle& oracle : c.oracles) {
      const std::vector<Check> more = OracleChecks(c, oracle, placed).run();
      checks.insert(checks.end(), more.begin(), more.end());
    }
    for (const EplbPreserve& one : c.preserves) checks.push_back(check_preserve(c, one));
  }
  return checks;
}

}  // namespace moediff
