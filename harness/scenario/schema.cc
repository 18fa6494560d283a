// Look-ups in the schema table, and its texts for people.
#include "harness/scenario/schema.h"

#include <fmt/format.h>

#include "harness/core/text.h"
#include "harness/scenario/scenario.h"

namespace moediff {

std::size_t index_of(const KeyRow& row) { return static_cast<std::size_t>(&row - schema().data()); }

const KeyRow* find_key(std::string_view path) {
  for (const KeyRow& row : schema()) {
    if (row.path == path) return &row;
  }
  return nullptr;
}

std::string_view last_name(const KeyRow& row) { return row.path.substr(row.path.rfind('.') + 1); }

const KeyRow* find_axis_key(std::string_view name) {
  for (const KeyRow& row : schema()) {
    if (row.role != KeyRole::axis && row.role != KeyRole::derived) continue;
    if (row.path == name || last_name(row) == name) return &row;
  }
  return nullptr;
}

std::vector<std::string> names_below(std::string_view section) {
  std::vector<std::string> names;
  for (const KeyRow& row : schema()) {
    const std::size_t dot = row.path.rfind('.');
    const std::string_view above = dot == std::string_view::npos ? "" : row.path.substr(0, dot);
    if (above == section) names.emplace_back(last_name(row));
  }
  return names;
}

std::vector<std::string> axis_names() {
  std::vector<std::string> names;
  for (const KeyRow& row : schema()) {
    if (row.role == KeyRole::axis || row.role == KeyRole::derived) names.emplace_back(last_name(row));
  }
  return names;
}

std::string range_text(const KeyRow& row) {
  if (row.range.above) return fmt::format("above {} and at most {}", row.range.least, row.range.most);
  return fmt::format("from {} to {}", row.range.least, row.range.most);
}

std::string type_text(const KeyRow& row) {
  switch (row.type) {
    case KeyType::integer:
      return "whole number " + range_text(row);
    case KeyType::number:
      return "number " + range_text(row);
    case KeyType::boolean:
      return "true or false";
    case KeyType::word:
      return "one of " + join(std::vector<std::string>(row.words.begin(), row.words.end()), ", ");
    case KeyType::text:
      return "text";
    case KeyType::path:
      return "path, relative to the folder of its file";
    case KeyType::schedule:
      return "submission, reverse, random:SEED, given:ITEM,ITEM,… or threads";
    case KeyType::map:
      return "map";
    case KeyType::maps:
      return "map, or list of maps";
    case KeyType::paths:
      return "path, or list of paths";
  }
  return "";
}

std::vector<SchemaKey> schema_keys() {
  std::vector<SchemaKey> keys;
  for (const KeyRow& row : schema()) {
    keys.push_back({std::string(row.path), type_text(row), std::string(row.fallback), std::string(row.meaning)});
  }
  return keys;
}

}  // namespace moediff
