#include "harness/scenario/expect_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/core/text.h"
#include "harness/scenario/layer.h"

namespace moediff {
namespace {

using Op = Condition::Op;

struct OpSign {
  std::string_view sign;
  Op op;
};
constexpr std::array<OpSign, 6> kSigns{{{">=", Op::greater_equal},
                                        {"<=", Op::less_equal},
                                        {"!=", Op::not_equal},
                                        {"==", Op::equal},
                                        {">", Op::greater},
                                        {"<", Op::less}}};

bool is_numeric(const KeyRow& row) { return row.type == KeyType::integer || row.type == KeyType::number; }

// A comparison is text to YAML (">0"), so what follows the sign is read as if it stood there by itself.
std::optional<Condition> read_comparison(Condition condition, const Node& node, std::vector<Error>& errors) {
  Node value = node;
  for (const OpSign& sign : kSigns) {
    if (!node.text.starts_with(sign.sign)) continue;
    condition.op = sign.op;
    value.text = node.text.substr(sign.sign.size());
    value.text.erase(0, value.text.find_first_not_of(' '));
    value.quoted = false;
    break;
  }
  const bool ordered = condition.op != Op::equal && condition.op != Op::not_equal;
  if (ordered && !is_numeric(*condition.key)) {
    errors.push_back({node.place, node.text, std::string(last_name(*condition.key)) + " has no order",
                      "compare numbers only, or list the values"});
    return std::nullopt;
  }
  const std::optional<Given> given = read_value(*condition.key, value, errors);
  if (!given) {
    errors.back().found = condition.written;
    return std::nullopt;
  }
  condition.values.push_back(*given);
  return condition;
}

std::optional<Condition> read_condition(const Entry& entry, std::vector<Error>& errors) {
  Condition condition;
  condition.key = find_axis_key(entry.key);
  condition.place = entry.place;
  condition.written = describe(entry.value);
  if (condition.key == nullptr) {
    report_unknown_key(entry, "when", axis_names(), errors);
    return std::nullopt;
  }
  if (entry.value.kind != Node::Kind::list) return read_comparison(std::move(condition), entry.value, errors);
  if (entry.value.items.empty())
    errors.push_back({entry.value.place, "[]", entry.key + " has no value", "list at least one"});
  std::vector<std::string> written;
  for (const Node& item : entry.value.items) {
    const std::optional<Given> given = read_value(*condition.key, item, errors);
    if (!given) continue;
    condition.values.push_back(*given);
    written.push_back(given->written);
  }
  condition.written = join(written, ", ");
  if (condition.values.size() != entry.value.items.size() || condition.values.empty()) return std::nullopt;
  return condition;
}

bool check_map(const Node& node, const std::string& name, std::vector<Error>& errors) {
  if (node.kind == Node::Kind::map) return true;
  errors.push_back(
      {node.place, describe(node), name + " must be a map", "write " + name + ": followed by keys and values"});
  return false;
}

void read_when(const Node& node, ExpectRule& rule, std::vector<Error>& errors) {
  if (!check_map(node, "when", errors)) return;
  for (const Entry& entry : node.entries) {
    if (auto condition = read_condition(entry, errors)) rule.when.push_back(std::move(*condition));
  }
}

// Keys of `expect` and `expect.blame`: the schema's rows write them into a case, whose expectation is the rule's.
void read_outcome(const Node& node, const std::string& section, ExpectRule& rule, Case& target,
                  std::vector<Error>& errors) {
  for (const Entry& entry : node.entries) {
    const KeyRow* row = find_key(section + "." + entry.key);
    if (row == nullptr) {
      report_unknown_key(entry, std::string(last_name(*find_key(section))), names_below(section), errors);
    } else if (row->path == "expect.when") {
      read_when(entry.value, rule, errors);
    } else if (row->role == KeyRole::structure) {
      if (check_map(entry.value, entry.key, errors))
        read_outcome(entry.value, std::string(row->path), rule, target, errors);
    } else if (const std::optional<Given> given = read_value(*row, entry.value, errors)) {
      row->set(target, given->text);
    }
  }
}

ExpectRule read_rule(const Node& node, std::vector<Error>& errors) {
  ExpectRule rule;
  rule.place = node.place;
  Case target;
  const std::size_t errors_before = errors.size();
  read_outcome(node, "expect", rule, target, errors);
  rule.then = target.expect;
  const Expectation& then = rule.then;
  const bool blames = !(then.blame_op + then.blame_value + then.blame_buffer + then.blame_writer).empty();
  if (errors.size() == errors_before && then.status != Status::fail && (then.cause || blames)) {
    errors.push_back({node.place, std::string(to_string(then.status)),
                      "only a failure has a cause and someone to blame",
                      "write status: fail, or remove cause and blame"});
  }
  return rule;
}

bool ordered(double left, Op op, double right) {
  switch (op) {
    case Op::less:
      return left < right;
    case Op::less_equal:
      return left <= right;
    case Op::greater:
      return left > right;
    case Op::greater_equal:
      return left >= right;
    default:
      return false;
  }
}

bool fits(const ExpectRule& rule, const Case& spec) {
  return std::all_of(rule.when.begin(), rule.when.end(),
                     [&](const Condition& condition) { return holds(condition, spec); });
}

// Says why no case gets the rule: the first condition that none meets, or else the rules before it.
Error never_applies(const ExpectRule& rule, const std::vector<Case>& cases) {
  for (const Condition& condition : rule.when) {
    std::set<std::string> values;
    bool met = false;
    for (const Case& spec : cases) {
      if (spec.skip_reason) continue;
      met = met || holds(condition, spec);
      values.insert(condition.key->get(spec));
    }
    if (met) continue;
    return {condition.place, condition.written,
            "the rule never applies: no case that runs has such a " + std::string(last_name(*condition.key)),
            "there is " + join(std::vector<std::string>(values.begin(), values.end()), ", ") +
                "; mend the condition or remove the rule"};
  }
  const bool shadowed =
      std::any_of(cases.begin(), cases.end(), [&](const Case& spec) { return !spec.skip_reason && fits(rule, spec); });
  return {rule.place, "",
          shadowed ? "the rule never applies: every case it fits is taken by a rule before it"
                   : "the rule never applies: no case that runs meets all its conditions",
          shadowed ? "put it before them, or remove it" : "mend the conditions or remove the rule"};
}

}  // namespace

std::vector<ExpectRule> read_expect(const Node& node, std::vector<Error>& errors) {
  std::vector<ExpectRule> rules;
  const std::vector<Node> single{node};
  for (const Node& item : node.kind == Node::Kind::list ? node.items : single) {
    if (check_map(item, "expect", errors)) rules.push_back(read_rule(item, errors));
  }
  return rules;
}

bool holds(const Condition& condition, const Case& spec) {
  const std::string actual = condition.key->get(spec);
  const auto same = [&](const Given& value) { return value.text == actual; };
  if (condition.op == Op::equal) return std::any_of(condition.values.begin(), condition.values.end(), same);
  if (condition.op == Op::not_equal) return !same(condition.values.front());
  const std::optional<double> left = parse_number(actual), right = parse_number(condition.values.front().text);
  return left && right && ordered(*left, condition.op, *right);
}

void apply_expectations(const std::vector<ExpectRule>& rules, std::vector<Case>& cases, std::vector<Error>& errors) {
  std::vector<bool> used(rules.size(), false);
  for (Case& spec : cases) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const ExpectRule& r) { return fits(r, spec); });
    if (rule == rules.end()) continue;
    spec.expect = rule->then;
    if (!spec.skip_reason) used[static_cast<std::size_t>(rule - rules.begin())] = true;
  }
  const bool all_skipped = std::all_of(cases.begin(), cases.end(), [](const Case& spec) { return spec.skip_reason; });
  for (std::size_t i = 0; i < rules.size() && !all_skipped; ++i) {
    if (!used[i]) errors.push_back(never_applies(rules[i], cases));
  }
}

}  // namespace moediff
