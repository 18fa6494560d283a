#include "tests/unit/reports/text_files.h"

#include <fstream>
#include <regex>
#include <sstream>

namespace moediff {
namespace {

/// The line as a regular expression: everything literal but for %s.
std::regex pattern_of(const std::string& line) {
  std::string pattern;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.compare(i, 2, "%s") == 0) {
      pattern += "[0-9]+\\.[0-9]+";
      ++i;
    } else {
      if (std::string("\\^$.|?*+()[]{}").find(line[i]) != std::string::npos) pattern += '\\';
      pattern += line[i];
    }
  }
  return std::regex(pattern);
}

}  // namespace

std::string read_source_file(const std::string& path) {
  std::ifstream file(std::string(MOEDIFF_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string text_difference(const std::string& expected, const std::string& actual) {
  std::istringstream expected_lines(expected), actual_lines(actual);
  for (int number = 1;; ++number) {
    std::string e, a;
    const bool more_expected = static_cast<bool>(std::getline(expected_lines, e));
    const bool more_actual = static_cast<bool>(std::getline(actual_lines, a));
    if (!more_expected && !more_actual) return "";
    if (more_expected != more_actual || !std::regex_match(a, pattern_of(e))) {
      return "line " + std::to_string(number) + "\n  expected: " + (more_expected ? e : "end of text") +
             "\n  actual:   " + (more_actual ? a : "end of text");
    }
  }
}

}  // namespace moediff
