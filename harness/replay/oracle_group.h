// The expected tensors of a decoder's file, by oracle and precision, and what they are compared with.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/replay/compare.h"
#include "harness/replay/policy.h"

namespace moediff {

/// What one oracle computed in one precision.
struct OracleGroup {
  std::string oracle, precision;
  OraclePolicy policy;
  std::vector<ExpectedTensor> expected;
};

/// Those of which `is_known` holds and for whose precision there is a rule; notes policies of other oracles, and
/// tolerances of what is none of them or an integer.
std::vector<OracleGroup> oracle_groups(ReplayFile& file, const RouterPolicy& base,
                                       const std::function<bool(const ExpectedTensor&)>& is_known);

/// An expected tensor, read; `integers` instead of `values` where its dtype is one of integers.
struct Wanted {
  ExpectedTensor expected;
  std::vector<double> values;
  std::vector<std::int32_t> integers;
  Rule rule = kExactly;
};
Wanted wanted_values(ReplayFile& file, const ExpectedTensor& expected, const Shape& shape);
Wanted wanted_integers(ReplayFile& file, const ExpectedTensor& expected, const Shape& shape, std::int64_t high);

/// DeepSeek's code computes attention in two forms, which are equal in exact arithmetic and to be told apart by a
/// name's beginning, "naive." or "absorb.": the rest of the name.
std::string_view without_form(std::string_view name);

bool is_integer_tensor(const ReplayFile& file, const std::string& tensor);

}  // namespace moediff
