#include "harness/replay/eplb_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/replay/mistakes.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxText = std::size_t{1} << 26, kMaxCases = 4096, kMaxLayers = 1024;
constexpr int kMaxDepth = 16;
constexpr std::int64_t kMaxExperts = 65536, kMaxSlots = 65536, kMaxGpus = 65536;
constexpr std::int64_t kMaxWork = std::int64_t{1} << 31;  // layers * slots * experts
constexpr double kMaxLoad = 1e30;

const std::string kRemedy = "scenarios/README.md describes the file";

/// Reads one case; mistakes are noted under its name.
class CaseReader {
 public:
  CaseReader(const Json& json, std::string name, Mistakes& mistakes)
      : json_(json), name_(std::move(name)), mistakes_(mistakes) {}

  /// Nothing where it has mistakes.
  std::optional<EplbCase> read() {
    EplbCase out;
    out.name = name_;
    out.loads = read_loads();
    out.shape = {integer("num_replicas", kMaxSlots), integer("num_groups", kMaxExperts), integer("num_nodes", kMaxGpus),
                 integer("num_gpus", kMaxGpus)};
    out.tie_free = json_.contains("tie_free") && json_["tie_free"] == true;
    if (good_) read_policy(out);
    if (good_) check_sizes(out);
    if (good_) read_results(out);
    if (!good_) return std::nullopt;
    return out;
  }

 private:
  void refuse(const std::string& found, const std::string& rule) {
    good_ = false;
    mistakes_.add(found, "case '" + name_ + "': " + rule, kRemedy);
  }

  std::int64_t integer(const char* key, std::int64_t high) {
    const Json* const value = json_.contains(key) ? &json_[key] : nullptr;
    if (value != nullptr && value->is_number_integer() && *value >= 1 && *value <= high) {
      return value->get<std::int64_t>();
    }
    refuse(value == nullptr ? "" : value->dump(),
           "'" + std::string(key) + "' must be a whole number from 1 to " + std::to_string(high));
    return 1;
  }

  std::vector<std::vector<double>> read_loads() {
    const Json& weight = json_.contains("weight") ? json_["weight"] : Json();
    std::vector<std::vector<double>> loads;
    bool good = weight.is_array() && !weight.empty() && weight.size() <= kMaxLayers;
    for (std::size_t layer = 0; good && layer < weight.size(); ++layer) {
      loads.emplace_back();
      good = weight[layer].is_array() && !weight[layer].empty() && weight[layer].size() == weight[0].size();
      good = good && static_cast<std::int64_t>(weight[layer].size()) <= kMaxExperts;
      for (std::size_t e = 0; good && e < weight[layer].size(); ++e) {
        const Json& load = weight[layer][e];
        good = load.is_number() && load >= 0 && load <= kMaxLoad;
        if (good) loads.back().push_back(load.get<double>());
      }
    }
    if (!good) refuse("", "'weight' must hold loads of at least 0, as many experts in every layer");
    return loads;
  }

  void read_policy(EplbCase& out) {
    const bool divides = reference::is_hierarchical(out.shape);
    const std::string fallback = divides ? "hierarchical" : "global";
    const std::string policy =
        json_.contains("policy") && json_["policy"].is_string() ? json_["policy"].get<std::string>() : fallback;
    if (policy == "global") {
      out.shape.groups = out.shape.nodes = 1;
    } else if (policy != "hierarchical" || !divides) {
      refuse(policy, "'policy' must be global, or hierarchical where nodes divide groups");
    }
  }

  void check_sizes(const EplbCase& out) {
    const reference::EplbShape& s = out.shape;
    const std::int64_t experts = out.experts();
    if (experts % s.groups != 0) refuse(std::to_string(s.groups), "'num_groups' must divide the number of experts");
    if (s.gpus % s.nodes != 0) refuse(std::to_string(s.gpus), "'num_gpus' must be a multiple of 'num_nodes'");
    if (s.slots % s.gpus != 0 || s.slots < experts) {
      refuse(std::to_string(s.slots), "'num_replicas' must be a multiple of 'num_gpus' that holds all experts");
    }
    if (s.slots * experts > kMaxWork / static_cast<std::int64_t>(out.loads.size())) {
      refuse(std::to_string(s.slots), "the case must be of a size that can be replayed");
    }
  }

  /// [rows][columns], or any number of columns up to `columns` where `ragged`.
  Table table(const Json& json, const std::string& what, std::size_t rows, std::size_t columns, std::int64_t low,
              std::int64_t high, bool ragged = false) {
    Table out;
    bool good = json.is_array() && json.size() == rows;
    for (std::size_t i = 0; good && i < rows; ++i) {
      good = json[i].is_array() && (ragged ? json[i].size() <= columns : json[i].size() == columns);
      out.emplace_back();
      for (std::size_t j = 0; good && j < json[i].size(); ++j) {
        good = json[i][j].is_number_integer() && json[i][j] >= low && json[i][j] <= high;
        if (good) out.back().push_back(json[i][j].get<std::int32_t>());
      }
    }
    if (!good) {
      refuse("", "'" + what + "' must be " + std::to_string(rows) + " rows of whole numbers from " +
                     std::to_string(low) + " to " + std::to_string(high));
    }
    return out;
  }

  void read_results(EplbCase& out) {
    for (const auto& item : json_.items()) {
      if (!item.value().is_object() || !item.value().contains("phy2log")) continue;
      const std::string& key = item.key();
      if (item.value().contains("old_phy2log")) {
        out.preserves.push_back(read_preserve(item.value(), key, out));
      } else {
        out.oracles.push_back(read_oracle(item.value(), key, out));
      }
    }
    for (const EplbPreserve& one : out.preserves) {
      const bool known = std::any_of(out.oracles.begin(), out.oracles.end(),
                                     [&](const EplbOracle& oracle) { return oracle.name == one.oracle; });
      if (!known) refuse(one.name, "'" + one.name + "' must reorder the placement of '" + one.oracle + "'");
    }
  }

  EplbOracle read_oracle(const Json& json, const std::string& key, const EplbCase& c) {
    const std::size_t layers = c.loads.size();
    const auto slots = static_cast<std::size_t>(c.shape.slots), experts = static_cast<std::size_t>(c.experts());
    EplbOracle out;
    out.name = key;
    out.phy2log = table(json["phy2log"], key + ".phy2log", layers, slots, 0, c.experts() - 1);
    if (json.contains("logcnt")) {
      out.logcnt = table(json["logcnt"], key + ".logcnt", layers, experts, 0, c.shape.slots);
    }
    if (json.contains("log2phy")) {
      const Json& all = json["log2phy"];
      for (std::size_t layer = 0; layer < layers; ++layer) {
        const Json one = all.is_array() && layer < all.size() ? all[layer] : Json();
        out.log2phy.push_back(table(one, key + ".log2phy", experts, slots, -1, c.shape.slots - 1, true));
      }
    }
    if (!json.contains("max_gpu_load")) return out;
    const Json& most = json["max_gpu_load"];
    bool good = most.is_array() && most.size() == layers;
    for (std::size_t layer = 0; good && layer < layers; ++layer) {
      good = most[layer].is_number();
      if (good) out.max_gpu_load.push_back(most[layer].get<double>());
    }
    if (!good) refuse("", "'" + key + ".max_gpu_load' must be a number a layer");
    return out;
  }

  EplbPreserve read_preserve(const Json& json, const std::string& key, const EplbCase& c) {
    const auto slots = static_cast<std::size_t>(c.shape.slots);
    EplbPreserve out{key, key.substr(0, key.find('_')), {}, {}};
    out.old_phy2log = table(json["old_phy2log"], key + ".old_phy2log", c.loads.size(), slots, 0, c.experts() - 1);
    out.phy2log = table(json["phy2log"], key + ".phy2log", c.loads.size(), slots, 0, c.experts() - 1);
    return out;
  }

  const Json& json_;
  std::string name_;
  Mistakes& mistakes_;
  bool good_ = true;
};

std::string read_text(const std::string& path, Mistakes& mistakes) {
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  for (char c; text.size() <= kMaxText && stream.get(c);) text += c;
  if (!stream.eof() && text.size() <= kMaxText) mistakes.add("", "the file must be readable", "check the path");
  if (text.size() > kMaxText) mistakes.add("", "the file must have at most 64 MiB", "replay fewer cases");
  mistakes.throw_if_any();
  return text;
}

Json parse(const std::string& text, Mistakes& mistakes) {
  bool too_deep = false;
  const auto guard = [&](int depth, Json::parse_event_t, Json&) { return !(too_deep = too_deep || depth > kMaxDepth); };
  Json json = Json::parse(text, guard, false);
  const bool good = !too_deep && json.is_object() && json.contains("cases") && json["cases"].is_array() &&
                    json["cases"].size() <= kMaxCases;
  if (!good) mistakes.add("", "the file must be a JSON object with a list of 'cases'", kRemedy);
  mistakes.throw_if_any();
  return json;
}

}  // namespace

bool is_json_file(const std::string& path) {
  constexpr std::string_view kEnding = ".json";
  return path.size() > kEnding.size() && path.compare(path.size() - kEnding.size(), kEnding.size(), kEnding) == 0;
}

std::vector<EplbCase> read_eplb_file(const std::string& path) {
  Mistakes mistakes(path);
  const Json json = parse(read_text(path, mistakes), mistakes);
  std::vector<EplbCase> cases;
  for (const Json& one : json["cases"]) {
    std::string name = "number " + std::to_string(cases.size() + 1);
    if (one.is_object() && one.contains("name") && one["name"].is_string()) name = one["name"];
    if (!one.is_object()) mistakes.add(one.dump(), "a case must be a JSON object", kRemedy);
    std::optional<EplbCase> read = one.is_object() ? CaseReader(one, name, mistakes).read() : std::nullopt;
    if (read) cases.push_back(std::move(*read));
  }
  mistakes.throw_if_any();
  return cases;
}

}  // namespace moediff
