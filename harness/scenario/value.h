// One value of one key: from a node of the file to checked, canonical text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/schema.h"
#include "harness/scenario/yaml_tree.h"

namespace moediff {

/// A value that a file gives.
struct Given {
  std::string text;     ///< canonical: equal values have equal texts
  std::string written;  ///< as the user wrote it, for messages
  Place place;
};

/// Checks type, range and words of the row's key. Reports to `errors` and returns nothing when a rule is broken.
std::optional<Given> read_value(const KeyRow& row, const Node& node, std::vector<Error>& errors);

/// "did you mean 'hidden'?", or `otherwise` when no candidate is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, std::string otherwise);

/// Canonical text to and from values.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);  ///< finite
std::string number_text(double value);                      ///< shortest that reads back the same

}  // namespace moediff
