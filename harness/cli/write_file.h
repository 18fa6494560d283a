// Files that the user asked for: tried before anything runs, never left half written.
#pragma once

#include <string>

namespace moediff {

/// UserError when a file cannot be written there. Makes its folder.
void check_target(const std::string& path);
/// Writes the file, its folder too where it is missing; devices, pipes and links are written through. UserError when it
/// cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace moediff
