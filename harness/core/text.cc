// Text tools. `nearest` uses the optimal string alignment form of the Damerau-Levenshtein distance; `glob_match`
// backtracks to the last `*` only, which is enough because a later `*` can absorb whatever an earlier one could.
#include "harness/core/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace moediff {
namespace {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({substituted, last[j] + 1, now[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

/// Length of the set that starts at pattern[0] == '[', brackets included; 0 when it is not closed. A `]` right after
/// the opening stands for itself.
std::size_t set_length(std::string_view pattern) {
  const std::size_t close = pattern.find(']', 2);
  return close == std::string_view::npos ? 0 : close + 1;
}

/// `set` without its brackets: characters and ranges `a-z`; a leading `!` negates.
bool in_set(std::string_view set, char c) {
  const bool negated = set.size() > 1 && set.front() == '!';
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool range = i + 2 < set.size() && set[i + 1] == '-';
    found |= range ? set[i] <= c && c <= set[i + 2] : set[i] == c;
    if (range) i += 2;
  }
  return found != negated;
}

/// Characters of the pattern that match one `c`; 0 when it does not match.
std::size_t match_one(std::string_view pattern, char c) {
  if (pattern.empty() || pattern.front() == '*') return 0;
  if (pattern.front() == '?') return 1;
  const std::size_t set = pattern.front() == '[' ? set_length(pattern) : 0;
  if (set > 0) return in_set(pattern.substr(1, set - 2), c) ? set : 0;
  return pattern.front() == c ? 1 : 0;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = 1 + word.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, star_text = 0;  // the last `*` and where its run ends
  while (t < text.size()) {
    if (const std::size_t used = match_one(pattern.substr(p), text[t]); used > 0) {
      p += used;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string short_number(double value, int digits) {
  if (value == 0.0) return "0";  // also -0
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*g", std::clamp(digits, 1, 17), value);
  return text.data();
}

}  // namespace moediff
