#include "harness/scenario/case_id.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace moediff {
namespace {

// Ids are patterns for --filter and names of files: nothing that a shell or a glob would take for its own.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':') continue;  // random:1 -> random1
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '+' || c == '-';
    out += keep ? c : '_';
  }
  return out;
}

std::string part(const KeyRow& row, const Given& value) {
  if (row.type == KeyType::boolean) {
    const std::size_t bar = row.id_form.find('|');
    return std::string(value.text == "true" ? row.id_form.substr(0, bar) : row.id_form.substr(bar + 1));
  }
  if (row.path == "fault" && value.text == "none") return "clean";  // `none` is a stream mode in ids
  if (row.type == KeyType::path) return plain(std::filesystem::path(value.text).stem().string());
  return std::string(row.id_form) + plain(value.text);
}

}  // namespace

std::string id_of_file(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path file = fs::absolute(path).lexically_normal().replace_extension();
  std::string below = file.filename().string();
  for (fs::path folder = file.parent_path(); folder.has_filename(); folder = folder.parent_path()) {
    if (folder.filename() == "scenarios") return below;
    below = folder.filename().string() + "/" + below;
  }
  return file.filename().string();
}

std::vector<std::string> id_parts(const Setting& setting) {
  std::vector<std::string> parts(setting.rows.size());
  for (std::size_t k = 0; k < setting.keys.size(); ++k) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (k > 0) parts[i] += '-';
      parts[i] += part(*setting.keys[k], setting.rows[i][k]);
    }
    if (std::set<std::string>(parts.begin(), parts.end()).size() == parts.size()) break;
  }
  return parts;
}

}  // namespace moediff
