// Writes a case row by row of the schema, so that no key can be forgotten.
#include "harness/scenario/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "harness/scenario/scenario.h"
#include "harness/scenario/schema.h"

namespace moediff {
namespace {

// Double quotes with YAML's escapes: right for every text.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string relative_to_scenario(const std::string& path, const Case& spec) {
  const std::filesystem::path target(path);
  if (target.is_absolute()) return path;
  return target.lexically_relative(std::filesystem::path(spec.scenario).parent_path()).string();
}

std::string yaml_value(const KeyRow& row, const Case& spec) {
  const std::string value = row.get(spec);
  switch (row.type) {
    case KeyType::path:
      return quoted(relative_to_scenario(value, spec));
    case KeyType::text:
    case KeyType::schedule:
      return quoted(value);
    default:
      return value;
  }
}

// Keys of the other kind of input would be refused when the text is read.
bool applies(const KeyRow& row, const Case& spec) {
  if (row.get == nullptr || row.get(spec).empty()) return false;
  const bool generated_only =
      row.path == "input.distribution" || row.path == "input.bias_scale" || row.path == "input.idle_experts";
  return !(generated_only && spec.input.kind == InputSource::Kind::capture);
}

std::string write(const Case& spec, bool (*wanted)(const KeyRow&)) {
  std::string text;
  std::string_view section;
  for (const KeyRow& row : schema()) {
    if (!wanted(row) || !applies(row, spec)) continue;
    const std::size_t dot = row.path.rfind('.');
    const std::string_view mine = dot == std::string_view::npos ? "" : row.path.substr(0, dot);
    // Every section between the top and this key gets its line, unless the key before stood in it.
    for (std::size_t end = mine.find('.'); !mine.empty(); end = mine.find('.', end + 1)) {
      const std::string_view outer = mine.substr(0, end);
      const bool open = section.starts_with(outer) && (section.size() == outer.size() || section[outer.size()] == '.');
      const auto depth = static_cast<std::size_t>(std::count(outer.begin(), outer.end(), '.'));
      if (!open) text += std::string(2 * depth, ' ') + std::string(outer.substr(outer.rfind('.') + 1)) + ":\n";
      if (end == std::string_view::npos) break;
    }
    const auto depth = static_cast<std::size_t>(std::count(row.path.begin(), row.path.end(), '.'));
    text += fmt::format("{}{}: {}\n", std::string(2 * depth, ' '), last_name(row), yaml_value(row, spec));
    section = mine;
  }
  return text;
}

}  // namespace

std::string canonical_body(const Case& spec) {
  return write(spec, [](const KeyRow& row) { return row.role == KeyRole::axis || row.role == KeyRole::derived; });
}

std::string canonical_yaml(const Case& spec) {
  std::string text;
  if (spec.skip_reason) text += "# skipped: " + *spec.skip_reason + "\n";
  text += write(spec, [](const KeyRow& row) { return row.role == KeyRole::fixed; });
  text += canonical_body(spec);
  return text + write(spec, [](const KeyRow& row) { return row.role == KeyRole::expectation; });
}

}  // namespace moediff
