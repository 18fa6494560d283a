// The schema of scenario files: one row a key. A row drives parsing, defaults, axes, `when:` conditions, canonical
// YAML, the short form in case ids, and the documentation.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/case.h"

namespace moediff {

enum class KeyType : std::uint8_t { integer, number, boolean, word, text, path, schedule, map, maps, paths };

enum class KeyRole : std::uint8_t {
  axis,         ///< a scalar of the case; may be an axis and stand in `when:`
  fixed,        ///< a scalar of the scenario
  derived,      ///< follows from the others; may be stated, then it must be true
  expectation,  ///< a scalar of one `expect:` rule
  structure,    ///< a map or list that holds other keys
};

inline constexpr std::string_view kRequired = "required";

/// Allowed numbers. `above`: the least value itself is not allowed.
struct Range {
  double least = 0, most = 0;
  bool above = false;
};

struct KeyRow {
  std::string_view path;  ///< "model.top_k"
  KeyType type;
  KeyRole role;
  std::string_view fallback;  ///< default, as written in YAML; kRequired; "": none
  std::string_view meaning;
  Range range = {};
  std::span<const std::string_view> words = {};
  /// In ids: what goes before the value; for a boolean, its two words "inplace|outofplace".
  std::string_view id_form = "";
  std::string (*get)(const Case&) = nullptr;            ///< the value as canonical text, "" when there is none
  void (*set)(Case&, std::string_view text) = nullptr;  ///< from canonical text; null for derived keys and structure
};

std::span<const KeyRow> schema();
/// Index in schema().
std::size_t index_of(const KeyRow& row);
const KeyRow* find_key(std::string_view path);
/// An axis or derived key by its path or by its last name ("top_k"); last names are unique.
const KeyRow* find_axis_key(std::string_view name);
std::string_view last_name(const KeyRow& row);
/// Last names of the keys directly below `section` ("" = top level).
std::vector<std::string> names_below(std::string_view section);
std::vector<std::string> axis_names();
/// "from 1 to 65536", "above 0 and at most 1000".
std::string range_text(const KeyRow& row);
/// "whole number from 1 to 65536", "one of none, aux, fused", …
std::string type_text(const KeyRow& row);

}  // namespace moediff
