#include "harness/scenario/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "harness/core/text.h"

namespace moediff {
namespace {

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What is wrong with a value: a rule and a remedy. Or its canonical text.
struct Outcome {
  std::optional<std::string> text;
  std::string rule, remedy;
};
Outcome ok(std::string text) { return {std::move(text), "", ""}; }
Outcome broken(std::string rule, std::string remedy) { return {std::nullopt, std::move(rule), std::move(remedy)}; }

std::string name(const KeyRow& row) { return std::string(last_name(row)); }

Outcome read_boolean(const KeyRow& row, const Node& node) {
  if (!node.quoted && (node.text == "true" || node.text == "false")) return ok(node.text);
  const bool like_true =
      node.text == "yes" || node.text == "on" || node.text == "True" || node.text == "1" || node.text == "true";
  const bool like_false =
      node.text == "no" || node.text == "off" || node.text == "False" || node.text == "0" || node.text == "false";
  return broken(name(row) + " must be true or false", like_true    ? "write true"
                                                      : like_false ? "write false"
                                                                   : "use true or false");
}

Outcome check_range(const KeyRow& row, double value, std::string text) {
  const Range& range = row.range;
  const bool low = range.above ? value <= range.least : value < range.least;
  if (!low && value <= range.most) return ok(std::move(text));
  const std::string_view bound = !low ? "at most" : range.above ? "above" : "at least";
  return broken(fmt::format("{} must be {} {}", last_name(row), bound, low ? range.least : range.most),
                "use a value " + range_text(row));
}

Outcome read_quantity(const KeyRow& row, const Node& node) {
  const bool whole = row.type == KeyType::integer;
  const std::string rule = name(row) + (whole ? " must be a whole number" : " must be a number");
  const std::optional<std::int64_t> integer = parse_integer(node.text);
  const std::optional<double> number = parse_number(node.text);
  if (!(whole ? integer.has_value() : number.has_value())) return broken(rule, "use a value " + range_text(row));
  if (node.quoted) return broken(rule + ", not text", "write " + node.text + " without quotes");
  if (whole) return check_range(row, static_cast<double>(*integer), std::to_string(*integer));
  return check_range(row, *number, number_text(*number));
}

Outcome read_word(const KeyRow& row, const Node& node) {
  const std::vector<std::string> words(row.words.begin(), row.words.end());
  if (std::find(words.begin(), words.end(), node.text) != words.end()) return ok(node.text);
  const std::string all = join(words, ", ");
  return broken(name(row) + " must be one of " + all, suggestion(node.text, words, "use one of " + all));
}

Outcome read_schedule(const KeyRow& row, const Node& node) {
  if (const std::optional<Schedule> schedule = parse_schedule(node.text)) return ok(to_string(*schedule));
  const std::vector<std::string> policies(kSchedulePolicyNames.begin(), kSchedulePolicyNames.end());
  const bool policy =
      std::find(policies.begin(), policies.end(), node.text.substr(0, node.text.find(':'))) != policies.end();
  const std::string forms = "use " + type_text(row);
  return broken(name(row) + " must be a schedule", policy ? forms : suggestion(node.text, policies, forms));
}

Outcome read_path(const KeyRow& row, const Node& node) {
  if (node.text.empty()) return broken(name(row) + " must not be empty", "write a path");
  const std::filesystem::path folder = std::filesystem::path(node.place.file).parent_path();
  return ok((folder / node.text).lexically_normal().string());
}

Outcome read_text(const KeyRow& row, const Node& node) {
  if (node.text.empty()) return broken(name(row) + " must not be empty", "write a text, or remove the key");
  const bool control = std::any_of(node.text.begin(), node.text.end(), [](unsigned char c) { return c < 0x20; });
  if (control) return broken(name(row) + " must be one line", "remove the line break");
  return ok(node.text);
}

Outcome read_scalar(const KeyRow& row, const Node& node) {
  switch (row.type) {
    case KeyType::integer:
    case KeyType::number:
      return read_quantity(row, node);
    case KeyType::boolean:
      return read_boolean(row, node);
    case KeyType::word:
      return read_word(row, node);
    case KeyType::schedule:
      return read_schedule(row, node);
    case KeyType::path:
      return read_path(row, node);
    default:
      return read_text(row, node);
  }
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_whole<std::int64_t>(text); }

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, std::string otherwise) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? std::move(otherwise) : "did you mean '" + near + "'?";
}

std::optional<Given> read_value(const KeyRow& row, const Node& node, std::vector<Error>& errors) {
  if (node.kind != Node::Kind::scalar) {
    const bool variable = row.role == KeyRole::axis && node.kind == Node::Kind::list;
    errors.push_back(
        {node.place, describe(node), name(row) + " takes one value",
         variable ? "to vary it, write it under axes" : "write " + name(row) + ": followed by a " + type_text(row)});
    return std::nullopt;
  }
  Outcome outcome = read_scalar(row, node);
  if (!outcome.text) {
    errors.push_back({node.place, describe(node), std::move(outcome.rule), std::move(outcome.remedy)});
    return std::nullopt;
  }
  return Given{std::move(*outcome.text), node.text, node.place};
}

}  // namespace moediff
