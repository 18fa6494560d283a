// Small text tools: nearest word for a misspelling, glob matching for --filter, joining.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace moediff {

/// The candidate nearest to `word` (Damerau-Levenshtein distance, at most 1 + length/3 edits), or "" when none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// Shell-style match of the whole text: `*` any run of characters (also '/'), `?` one character, `[ab]` a set.
bool glob_match(std::string_view pattern, std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// A number with about `digits` significant digits, "0" for zero: for sentences, not for data.
std::string short_number(double value, int digits = 3);

}  // namespace moediff
