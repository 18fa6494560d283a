// A YAML file as a tree of plain values, each with its place: the only part of moediff that sees yaml-cpp is behind it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"

namespace moediff {

struct Entry;

struct Node {
  enum class Kind : unsigned char { null, scalar, list, map } kind = Kind::null;
  Place place;
  std::string text;     ///< scalar
  bool quoted = false;  ///< scalar in quotes or in a block: text, never a number
  std::vector<Node> items;
  std::vector<Entry> entries;  ///< in the file's order; keys are unique
};

struct Entry {
  std::string key;
  Place place;  ///< of the key
  Node value;
};

/// What the user wrote, for messages: the scalar itself, "a list", "a map", "nothing".
std::string describe(const Node& node);

/// Parses one document. Anchors and `<<` are resolved; what comes from an anchor keeps the anchor's place. Mistakes of
/// YAML and keys that are given twice go to `errors`; nothing is returned when there is no tree.
std::optional<Node> parse_yaml(const std::string& file, const std::string& text, std::vector<Error>& errors);

}  // namespace moediff
