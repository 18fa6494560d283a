#include "harness/cli/write_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/core/error.h"

namespace moediff {
namespace {

[[noreturn]] void cannot_write(const std::string& path, const std::string& why) {
  throw UserError(
      Error{{path, 0, 0}, "", "the report cannot be written: " + why, "name a place that is writable and has room"});
}

void make_folder_of(const std::string& path) {
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) cannot_write(path, error.message());
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  cannot_write(path, "no such folder, no permission, or no space");
}

// Devices, pipes and links stay what they are: they are written to, not replaced.
bool is_special(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

void check_target(const std::string& path) {
  make_folder_of(path);
  if (std::filesystem::is_directory(path)) cannot_write(path, "it is a folder");
  if (is_special(path)) return;
  const std::string probe = fmt::format("{}.{}.part", path, getpid());
  write_text(probe, "");
  std::filesystem::remove(probe);
}

// Written beside and renamed, so that a full disk or a kill leaves the old report, not half of a new one; under a name
// of this process's own, so that two runs do not meet.
void write_file(const std::string& path, const std::string& text) {
  make_folder_of(path);
  if (is_special(path)) return write_text(path, text);
  const std::string beside = fmt::format("{}.{}.part", path, getpid());
  write_text(beside, text);
  std::error_code error;
  std::filesystem::rename(beside, path, error);
  if (!error) return;
  const std::string why = error.message();
  std::filesystem::remove(beside, error);
  cannot_write(path, why);
}

}  // namespace moediff
