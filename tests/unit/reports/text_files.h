// Expected texts kept in files, with placeholders for what may change.
#pragma once

#include <string>

namespace moediff {

/// The whole file, path relative to the source folder.
std::string read_source_file(const std::string& path);

/// "" when `actual` is the expected text, else the first line that differs, both ways. In the expected text `%s` stands
/// for a number of seconds such as 0.08.
std::string text_difference(const std::string& expected, const std::string& actual);

}  // namespace moediff
