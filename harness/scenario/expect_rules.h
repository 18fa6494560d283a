// `expect:`: what must come out of a case, as rules of which the first that fits holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/scenario/case.h"
#include "harness/scenario/schema.h"
#include "harness/scenario/value.h"
#include "harness/scenario/yaml_tree.h"

namespace moediff {

/// `tokens: ">= 256"`: the key's value compared with any of some values.
struct Condition {
  enum class Op : unsigned char { equal, not_equal, less, less_equal, greater, greater_equal } op = Op::equal;
  const KeyRow* key = nullptr;
  std::vector<Given> values;  ///< several only for `equal`: any of them
  std::string written;
  Place place;
};

struct ExpectRule {
  std::vector<Condition> when;  ///< all must hold
  Expectation then;
  Place place;
};

/// A list of rules, or one rule.
std::vector<ExpectRule> read_expect(const Node& node, std::vector<Error>& errors);

bool holds(const Condition& condition, const Case& spec);
/// Gives every case the expectation of the first rule that fits it (default: pass). A rule that no case gets is a
/// mistake: it was written for cases that do not exist. (When nothing runs at all, no rule can be judged.)
void apply_expectations(const std::vector<ExpectRule>& rules, std::vector<Case>& cases, std::vector<Error>& errors);

}  // namespace moediff
