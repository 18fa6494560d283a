// The program as a user runs it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace moediff::cli {

struct Result {
  int status = -1;
  std::string out, err;
};
/// Runs `moediff ARGUMENTS` in the source folder; `environment` like "NO_COLOR=1".
Result moediff(const std::string& arguments, const std::string& environment = "");

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  /// Writes a file into it; its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

/// A small scenario that passes, with further keys appended.
std::string small_scenario(const std::string& more = "");
nlohmann::json read_json(const std::string& path);

}  // namespace moediff::cli
