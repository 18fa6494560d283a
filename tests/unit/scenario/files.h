// Scenario files in a folder of their own, and what becomes of them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/scenario.h"

namespace moediff::testing {

/// A right model in one line, with groups and a shared expert.
inline constexpr std::string_view kModel =
    "model: {hidden: 64, inter: 32, experts: 8, top_k: 2, n_group: 4, topk_group: 2, n_shared: 1}\n";

/// A temporary folder, removed at the end.
class Files {
 public:
  Files();
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  /// Writes a file (folders are made); returns its path.
  std::string write(const std::string& name, std::string_view text) const;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<Case> load(const std::string& name, const LoadOptions& options = {}) const;
  /// The mistakes in the given files, as printed, without the folder.
  std::vector<std::string> mistakes(const std::vector<std::string>& names, const LoadOptions& options = {}) const;

 private:
  std::filesystem::path folder_;
};

/// Works in a folder of `files` as long as it lives.
class InFolder {
 public:
  InFolder(const Files& files, const std::string& name) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(files.path(name));
  }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_;
};

/// Cases of one file with a title, kModel and `text`.
std::vector<Case> load_text(std::string_view text);
/// Mistakes of one file x.yaml with exactly `text`.
std::vector<std::string> mistakes_of(std::string_view text);
/// Ids without what all of them begin with.
std::vector<std::string> ids(const std::vector<Case>& cases);

}  // namespace moediff::testing
