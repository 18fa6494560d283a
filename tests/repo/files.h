// The repository's own files, for tests that police it.
#pragma once

#include <string>
#include <vector>

namespace moediff::repo {

/// Paths relative to the source folder, sorted; build folders, outputs and data left out. `extensions` like ".cc".
std::vector<std::string> files(const std::vector<std::string>& folders, const std::vector<std::string>& extensions);
std::string read(const std::string& path);
std::vector<std::string> lines(const std::string& text);

struct CommandResult {
  int status = -1;
  std::string output;  ///< stdout and stderr together
};
CommandResult shell(const std::string& command);

}  // namespace moediff::repo
