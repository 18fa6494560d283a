#include "harness/scenario/axes.h"

#include <fmt/format.h>

#include <algorithm>

namespace moediff {
namespace {

struct Bounds {
  std::int64_t from = 0, to = 0, step = 1;
};

void add_range(const KeyRow& row, const Node& node, Bounds bounds, std::vector<Given>& values,
               std::vector<Error>& errors) {
  const std::string written = fmt::format("{}..{}", bounds.from, bounds.to);
  if (row.type != KeyType::integer) {
    errors.push_back({node.place, written, "a range needs a key with whole numbers",
                      "list the values of " + std::string(last_name(row))});
    return;
  }
  if (bounds.to < bounds.from) {
    errors.push_back({node.place, written, "a range must not end before it begins",
                      fmt::format("write {}..{}", bounds.to, bounds.from)});
    return;
  }
  if ((bounds.to - bounds.from) / bounds.step >= static_cast<std::int64_t>(kMaxCases)) {
    errors.push_back({node.place, written, fmt::format("a range must not have more than {} values", kMaxCases),
                      "use a larger step"});
    return;
  }
  for (std::int64_t value = bounds.from;; value += bounds.step) {
    Node item = node;
    item.kind = Node::Kind::scalar;
    item.text = std::to_string(value);
    item.quoted = false;
    const std::optional<Given> given = read_value(row, item, errors);
    if (!given) return;  // one message for a range, not one for each of its values
    values.push_back(*given);
    if (bounds.to - value < bounds.step) return;
  }
}

// "1..9"
std::optional<Bounds> parse_dots(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto from = parse_integer(std::string_view(text).substr(0, dots));
  const auto to = parse_integer(std::string_view(text).substr(dots + 2));
  if (!from || !to) return std::nullopt;
  return Bounds{*from, *to, 1};
}

// {from: 1, to: 9, step: 2}
void add_range_map(const KeyRow& row, const Node& node, std::vector<Given>& values, std::vector<Error>& errors) {
  constexpr double kFar = 9007199254740992;
  const KeyRow from{"from", KeyType::integer, KeyRole::structure, "", "", {-kFar, kFar}},
      to{"to", KeyType::integer, KeyRole::structure, "", "", {-kFar, kFar}},
      step{"step", KeyType::integer, KeyRole::structure, "", "", {1, kFar}};
  const std::size_t errors_before = errors.size();
  Bounds bounds;
  bool has_from = false, has_to = false;
  const auto read = [&](const KeyRow& key, const Node& value, std::int64_t& target) {
    if (const auto given = read_value(key, value, errors)) target = *parse_integer(given->text);
    return true;
  };
  for (const Entry& entry : node.entries) {
    if (entry.key == "from") {
      has_from = read(from, entry.value, bounds.from);
    } else if (entry.key == "to") {
      has_to = read(to, entry.value, bounds.to);
    } else if (entry.key == "step") {
      read(step, entry.value, bounds.step);
    } else {
      report_unknown_key(entry, "a range", {"from", "to", "step"}, errors);
    }
  }
  if (errors.size() > errors_before) return;
  if (!has_from || !has_to) {
    errors.push_back(
        {node.place, "a map", "a range needs from and to", "write {from: 1, to: 9, step: 2}; step is 1 when left out"});
    return;
  }
  add_range(row, node, bounds, values, errors);
}

void add_values(const KeyRow& row, const Node& node, std::vector<Given>& values, std::vector<Error>& errors) {
  if (node.kind == Node::Kind::map) return add_range_map(row, node, values, errors);
  if (node.kind == Node::Kind::scalar) {
    if (const std::optional<Bounds> bounds = parse_dots(node.text); bounds && row.type == KeyType::integer) {
      return add_range(row, node, *bounds, values, errors);
    }
  }
  if (const std::optional<Given> given = read_value(row, node, errors)) values.push_back(*given);
}

/// The values of one key: a value, a range, or a list of both. Empty when something was wrong.
std::vector<Given> read_values(const KeyRow& row, const Entry& entry, std::vector<Error>& errors) {
  const std::size_t errors_before = errors.size();
  std::vector<Given> values;
  if (entry.value.kind == Node::Kind::list) {
    for (const Node& item : entry.value.items) add_values(row, item, values, errors);
    if (entry.value.items.empty())
      errors.push_back({entry.value.place, "[]", entry.key + " has no value", "list at least one"});
  } else {
    add_values(row, entry.value, values, errors);
  }
  return errors.size() == errors_before ? values : std::vector<Given>{};
}

const KeyRow* read_axis_key(const Entry& entry, const char* section, Layer& layer, std::vector<Error>& errors) {
  const KeyRow* row = find_axis_key(entry.key);
  if (row == nullptr) {
    report_unknown_key(entry, section, axis_names(), errors);
    layer.broken.insert(probably_meant(section, entry.key));
  } else if (row->role == KeyRole::derived) {
    errors.push_back({entry.place, entry.key, "the key follows from the others and cannot vary by itself",
                      "vary stream, tokens or chunk"});
    return nullptr;
  }
  return row;
}

// Equal rows would be equal cases.
void check_distinct(const Setting& setting, std::vector<Error>& errors) {
  const auto texts = [](const std::vector<Given>& values) {
    std::vector<std::string> all;
    for (const Given& value : values) all.push_back(value.text);
    return all;
  };
  std::map<std::vector<std::string>, const Given*> seen;
  for (const std::vector<Given>& values : setting.rows) {
    const auto [earlier, fresh] = seen.emplace(texts(values), &values.front());
    if (fresh) continue;
    errors.push_back({values.front().place, values.front().written,
                      fmt::format("the value is listed twice (first in line {}, column {})",
                                  earlier->second->place.line, earlier->second->place.column),
                      "remove one of the two"});
  }
}

void read_lockstep_group(const Node& node, Layer& layer, std::vector<Error>& errors) {
  Setting group{{}, {}, true, node.place};
  for (const Entry& entry : node.entries) {
    const KeyRow* row = read_axis_key(entry, "lockstep", layer, errors);
    if (row == nullptr) continue;
    const std::vector<Given> values = read_values(*row, entry, errors);
    if (values.empty()) {
      layer.broken.insert(row);
      continue;
    }
    if (!group.keys.empty() && values.size() != group.rows.size()) {
      errors.push_back({entry.place, entry.key,
                        fmt::format("the lists of a lockstep must be equally long: {} has {}, {} has {}",
                                    last_name(*group.keys.front()), group.rows.size(), entry.key, values.size()),
                        "give each key of the lockstep as many values"});
      layer.broken.insert(row);
      continue;
    }
    if (group.keys.empty()) group.rows.resize(values.size());
    group.keys.push_back(row);
    for (std::size_t i = 0; i < values.size(); ++i) group.rows[i].push_back(values[i]);
  }
  if (group.keys.empty()) return;
  check_distinct(group, errors);
  add_setting(layer, std::move(group), errors);
}

bool check_map(const Node& node, const char* name, const char* example, std::vector<Error>& errors) {
  if (node.kind == Node::Kind::map) return true;
  errors.push_back({node.place, describe(node), std::string(name) + " must be a map of keys and lists",
                    std::string("write ") + example});
  return false;
}

}  // namespace

void read_axes(const Node& node, Layer& layer, std::vector<Error>& errors) {
  if (!check_map(node, "axes", "axes: {tokens: [1, 5]}", errors)) return;
  for (const Entry& entry : node.entries) {
    const KeyRow* row = read_axis_key(entry, "axes", layer, errors);
    if (row == nullptr) continue;
    Setting axis{{row}, {}, true, entry.place};
    for (Given& value : read_values(*row, entry, errors)) axis.rows.push_back({std::move(value)});
    if (axis.rows.empty()) {
      layer.broken.insert(row);
      continue;
    }
    check_distinct(axis, errors);
    add_setting(layer, std::move(axis), errors);
  }
}

void read_lockstep(const Node& node, Layer& layer, std::vector<Error>& errors) {
  constexpr const char* kExample = "lockstep: {tokens: [5, 255], chunk: [4, 100]}";
  if (node.kind != Node::Kind::list) {
    if (check_map(node, "lockstep", kExample, errors)) read_lockstep_group(node, layer, errors);
    return;
  }
  for (const Node& group : node.items) {
    if (check_map(group, "lockstep", kExample, errors)) read_lockstep_group(group, layer, errors);
  }
}

}  // namespace moediff
