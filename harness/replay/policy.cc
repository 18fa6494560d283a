#include "harness/replay/policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/core/text.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPrefix = "policy.";
constexpr std::string_view kPowerOfTwo = "_ue8m0";
constexpr double kLargestFmax = 448;

/// Sets the field that `value` names; false when it is none of `names`.
template <std::size_t N, typename T>
bool take_word(const std::array<std::string_view, N>& names, const Json& value, T& field) {
  const auto found = value.is_string() ? std::find(names.begin(), names.end(), value.get<std::string>()) : names.end();
  if (found != names.end()) field = static_cast<T>(found - names.begin());
  return found != names.end();
}
bool take_number(const Json& value, double low, double high, double& field) {
  const bool ok = value.is_number() && value >= low && value <= high;
  if (ok) field = value.get<double>();
  return ok;
}

struct PolicyKey {
  const char* name;
  bool (*take)(const Json& value, OraclePolicy& policy);
};
/// By the names of harness/model/router_policy.h, quant.h and reference/rope.h.
constexpr std::array kPolicyKeys{
    PolicyKey{"scoring", [](const Json& v, OraclePolicy& p) { return take_word(kScoringNames, v, p.router.scoring); }},
    PolicyKey{"bias",
              [](const Json& v, OraclePolicy& p) {
                if (v.is_boolean()) p.router.bias = v.get<bool>();
                return v.is_boolean();
              }},
    PolicyKey{"group_score",
              [](const Json& v, OraclePolicy& p) { return take_word(kGroupScoreNames, v, p.router.group_score); }},
    PolicyKey{"mask", [](const Json& v, OraclePolicy& p) { return take_word(kMaskValueNames, v, p.router.mask); }},
    PolicyKey{"norm_epsilon",
              [](const Json& v, OraclePolicy& p) { return take_number(v, 0, 1, p.router.norm_epsilon); }},
    PolicyKey{"weight_from",
              [](const Json& v, OraclePolicy& p) { return take_word(kWeightSourceNames, v, p.router.weight_from); }},
    PolicyKey{"scores_in",
              [](const Json& v, OraclePolicy& p) { return take_word(kKeptInNames, v, p.router.scores_in); }},
    PolicyKey{"bias_in", [](const Json& v, OraclePolicy& p) { return take_word(kKeptInNames, v, p.router.bias_in); }},
    PolicyKey{"choice_in",
              [](const Json& v, OraclePolicy& p) { return take_word(kKeptInNames, v, p.router.choice_in); }},
    PolicyKey{"weights_in",
              [](const Json& v, OraclePolicy& p) { return take_word(kKeptInNames, v, p.router.weights_in); }},
    PolicyKey{"weight_on",
              [](const Json& v, OraclePolicy& p) { return take_word(kWeightPlaceNames, v, p.router.weight_on); }},
    PolicyKey{"not_finite",
              [](const Json& v, OraclePolicy& p) { return take_word(kNotFiniteNames, v, p.router.not_finite); }},
    PolicyKey{"scales", [](const Json& v, OraclePolicy& p) { return take_word(kScaleKindNames, v, p.quant.scales); }},
    PolicyKey{"amax_floor", [](const Json& v, OraclePolicy& p) { return take_number(v, 0, 1, p.quant.amax_floor); }},
    PolicyKey{"fmax", [](const Json& v, OraclePolicy& p) { return take_number(v, 1, kLargestFmax, p.quant.fmax); }},
    PolicyKey{"scale_from",
              [](const Json& v, OraclePolicy& p) { return take_word(kScaleFromNames, v, p.quant.scale_from); }},
    PolicyKey{"scale_by", [](const Json& v, OraclePolicy& p) { return take_word(kScaleByNames, v, p.quant.scale_by); }},
    PolicyKey{
        "yarn_magnitude",
        [](const Json& v, OraclePolicy& p) { return take_word(reference::kYarnMagnitudeNames, v, p.yarn_magnitude); }},
    PolicyKey{"mtp_mask_first",
              [](const Json& v, OraclePolicy& p) {
                if (v.is_boolean()) p.mtp_mask_first = v.get<bool>();
                return v.is_boolean();
              }},
};

void apply(ReplayFile& file, const std::string& metadata_key, OraclePolicy& policy) {
  const std::string text = file.metadata(metadata_key);
  if (text.empty()) return;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return file.mistakes().add(text, "metadata '" + metadata_key + "' must be a JSON object of policies",
                               "write it like {\"mask\": \"zero\", \"norm_epsilon\": 1e-20}");
  }
  std::vector<std::string> names;
  for (const PolicyKey& key : kPolicyKeys) names.emplace_back(key.name);
  for (const auto& item : json.items()) {
    const auto key = std::find(names.begin(), names.end(), item.key());
    const std::string where = "metadata '" + metadata_key + "'";
    if (key == names.end()) {
      file.mistakes().add(item.key(), where + " must have known policies only", "known are " + join(names, ", "));
    } else if (!kPolicyKeys[static_cast<std::size_t>(key - names.begin())].take(item.value(), policy)) {
      file.mistakes().add(item.value().dump(), where + ": '" + item.key() + "' must have one of its values",
                          "harness/model/router_policy.h, quant.h and reference/rope.h list them");
    }
  }
}

}  // namespace

OraclePolicy oracle_policy(ReplayFile& file, const std::string& oracle, const OraclePolicy& base) {
  OraclePolicy policy = base;
  const std::string first = oracle.substr(0, oracle.find('.'));
  std::string name = first;
  if (name.size() > kPowerOfTwo.size() && name.substr(name.size() - kPowerOfTwo.size()) == kPowerOfTwo) {
    policy.quant.scales = ScaleKind::ue8m0;
    name.resize(name.size() - kPowerOfTwo.size());
  }
  const std::string kind = file.kind();
  for (const RouterOracle& row : kRouterOracles) {
    if (row.kind != kind || row.oracle != name) continue;
    policy.router.mask = row.mask;
    policy.router.norm_epsilon = row.norm_epsilon;
  }
  for (const RopeOracle& row : kRopeOracles) {
    if (row.kind == kind && row.oracle == name) policy.yarn_magnitude = row.yarn_magnitude;
  }
  for (const QuantOracle& row : kQuantOracles) {
    if (row.kind != kind || row.oracle != name) continue;
    policy.quant.amax_floor = row.amax_floor;
    policy.quant.scale_by = row.scale_by;
  }
  apply(file, std::string(kPrefix) + first, policy);
  if (first != oracle) apply(file, std::string(kPrefix) + oracle, policy);
  return policy;
}

void check_bias(ReplayFile& file, const std::string& oracle, const RouterPolicy& policy, bool has_bias) {
  const bool wanted = policy.bias || policy.weight_from == WeightSource::choice_minus_bias;
  if (!wanted || has_bias) return;
  file.mistakes().add(std::string(kPrefix) + oracle, "a policy with a bias needs the bias in the file",
                      "add the tensor, or take another policy");
}

void check_policies(ReplayFile& file, const std::vector<std::string>& oracles) {
  for (const auto& entry : file.metadata()) {
    if (entry.first.rfind(kPrefix, 0) != 0) continue;
    const std::string oracle = entry.first.substr(kPrefix.size());
    const bool known = std::any_of(oracles.begin(), oracles.end(), [&](const std::string& name) {
      return name == oracle || name.substr(0, name.find('.')) == oracle;
    });
    if (known) continue;
    file.mistakes().add(entry.first, "a policy must be that of an oracle of the file",
                        oracles.empty() ? "the file has none" : "it has " + join(oracles, ", "));
  }
}

}  // namespace moediff
