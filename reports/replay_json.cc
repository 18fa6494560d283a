// Files that were replayed as JSON, field by field in the order of the schema.
#include "reports/replay_json.h"

#include <nlohmann/json.hpp>

namespace moediff {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json to_json(const Check& check) {
  return {{"name", check.name},         {"expected", check.expected}, {"compared", check.compared},
          {"measured", check.measured}, {"limit", check.limit},       {"rule", check.rule},
          {"pass", check.pass},         {"note", check.note}};
}

Json to_json(const Error& error) {
  return {{"file", error.place.file}, {"found", error.found}, {"rule", error.rule}, {"remedy", error.remedy}};
}

Json to_json(const FileReplay& file) {
  Json checks = Json::array(), errors = Json::array();
  for (const Check& check : file.checks) checks.push_back(to_json(check));
  for (const Error& error : file.errors) errors.push_back(to_json(error));
  return {{"path", file.path}, {"kind", file.kind},           {"verdict", to_string(file.verdict)},
          {"checks", checks},  {"unchecked", file.unchecked}, {"errors", errors}};
}

}  // namespace

std::string render_replay_json(std::span<const FileReplay> files) {
  Json all = Json::array();
  for (const FileReplay& file : files) all.push_back(to_json(file));
  const Json report{{"schema_version", kSchemaVersion}, {"files", all}};
  return report.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace moediff
