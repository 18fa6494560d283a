#include "harness/replay/oracle_group.h"

#include <algorithm>

namespace moediff {

std::string_view without_form(std::string_view name) {
  for (const std::string_view form : {"naive.", "absorb."}) {
    if (name.substr(0, form.size()) == form) return name.substr(form.size());
  }
  return name;
}

bool is_integer_tensor(const ReplayFile& file, const std::string& tensor) {
  const std::string dtype = file.dtype(tensor);
  return dtype == "I32" || dtype == "I64";
}

std::vector<OracleGroup> oracle_groups(ReplayFile& file, const RouterPolicy& base,
                                       const std::function<bool(const ExpectedTensor&)>& is_known) {
  OraclePolicy family;
  family.router = base;
  std::vector<OracleGroup> groups;
  std::vector<ExpectedTensor> numeric;
  std::vector<std::string> oracles;
  for (const ExpectedTensor& expected : expected_tensors(file, {"in.", "diag."})) {
    if (!has_rule(file.kind(), expected) || !is_known(expected)) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const OracleGroup& one) {
      return one.oracle == expected.oracle && one.precision == expected.precision;
    });
    if (group == groups.end()) {
      oracles.push_back(expected.oracle);
      groups.push_back({expected.oracle, expected.precision, oracle_policy(file, expected.oracle, family), {}});
      group = groups.end() - 1;
    }
    group->expected.push_back(expected);
    if (!is_integer_tensor(file, expected.tensor)) numeric.push_back(expected);
  }
  check_policies(file, oracles);
  check_tolerances(file, numeric);
  return groups;
}

Wanted wanted_values(ReplayFile& file, const ExpectedTensor& expected, const Shape& shape) {
  return {expected, file.reals(expected.tensor, shape), {}, rule_for(file, expected)};
}

Wanted wanted_integers(ReplayFile& file, const ExpectedTensor& expected, const Shape& shape, std::int64_t high) {
  return {expected, {}, file.integers(expected.tensor, shape, 0, high), kExactly};
}

}  // namespace moediff
