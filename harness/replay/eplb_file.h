// A JSON file of expert placements: loads of experts, and where balancers put them. Its format is described in
// scenarios/README.md. Nothing in it is trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/eplb.h"

namespace moediff {

using Table = std::vector<std::vector<std::int32_t>>;

/// What one balancer came to, by layer.
struct EplbOracle {
  std::string name;
  Table phy2log;                     ///< [layers][slots]: expert of a slot
  std::vector<Table> log2phy;        ///< [layers][experts][replicas]: slots of an expert, -1 for none; or empty
  Table logcnt;                      ///< [layers][experts]: replicas; or empty
  std::vector<double> max_gpu_load;  ///< [layers], or empty
};

/// A step that keeps experts in the slots that they were in.
struct EplbPreserve {
  std::string name, oracle;  ///< whose phy2log is reordered
  Table old_phy2log, phy2log;
};

struct EplbCase {
  std::string name;
  reference::EplbShape shape;              ///< groups and nodes 1 where the policy is global
  std::vector<std::vector<double>> loads;  ///< [layers][experts]
  bool tie_free = false;
  std::vector<EplbOracle> oracles;
  std::vector<EplbPreserve> preserves;

  std::int64_t experts() const { return static_cast<std::int64_t>(loads.front().size()); }
};

/// Does the file's name end in .json?
bool is_json_file(const std::string& path);
/// Throws UserError with all that is wrong.
std::vector<EplbCase> read_eplb_file(const std::string& path);

}  // namespace moediff
