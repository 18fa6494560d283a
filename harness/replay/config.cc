#include "harness/replay/config.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace moediff {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxText = 1 << 20;
constexpr int kMaxDepth = 16;
constexpr std::string_view kPrefix = "cfg.";

/// The whole text as a number.
template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Json parse_object(const std::string& text, Mistakes& mistakes) {
  const std::string remedy = "write the configuration as a JSON object";
  if (text.size() > kMaxText) {
    mistakes.add(std::to_string(text.size()) + " bytes", "metadata 'config' must have at most 1 MiB", remedy);
    return Json::object();
  }
  bool too_deep = false;
  const auto guard = [&](int depth, Json::parse_event_t, Json&) { return !(too_deep = too_deep || depth > kMaxDepth); };
  const Json json = Json::parse(text, guard, false);
  if (!too_deep && json.is_object()) return json;
  mistakes.add(text, "metadata 'config' must be a JSON object", remedy);
  return Json::object();
}

std::string joined(ReplayConfig::Names names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "'" : " or '") + std::string(name) + "'";
  return text;
}

}  // namespace

ReplayConfig::ReplayConfig(const std::map<std::string, std::string>& metadata, Mistakes& mistakes)
    : mistakes_(mistakes) {
  for (const auto& [key, value] : metadata) {
    if (key.rfind(kPrefix, 0) == 0) entries_[key.substr(kPrefix.size())] = {key, value};
  }
  const auto config = metadata.find("config");
  if (config == metadata.end()) return;
  const Json object = parse_object(config->second, mistakes);
  for (const auto& item : object.items()) {
    const Json& value = item.value();
    entries_[item.key()] = {item.key(), value.is_string() ? value.get<std::string>() : value.dump()};
  }
}

const ReplayConfig::Entry* ReplayConfig::find(Names names) const {
  for (const char* name : names) {
    const auto entry = entries_.find(name);
    if (entry != entries_.end() && entry->second.value != "null") return &entry->second;
  }
  return nullptr;
}

void ReplayConfig::refuse(const Entry& entry, const std::string& rule) const {
  mistakes_.add(entry.value, "configuration value '" + entry.name + "' must be " + rule,
                "correct it in the file's metadata");
}

std::int64_t ReplayConfig::integer(Names names, std::int64_t low, std::int64_t high,
                                   std::optional<std::int64_t> otherwise) const {
  const Entry* const entry = find(names);
  if (entry == nullptr) {
    if (!otherwise) {
      mistakes_.add("", "the configuration must have " + joined(names), "add it to the file's metadata as 'cfg.…'");
    }
    return otherwise.value_or(low);
  }
  const std::optional<std::int64_t> value = number<std::int64_t>(entry->value);
  if (value && *value >= low && *value <= high) return *value;
  refuse(*entry, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return low;
}

double ReplayConfig::real(Names names, double low, double high, double otherwise) const {
  const Entry* const entry = find(names);
  if (entry == nullptr) return otherwise;
  const std::optional<double> value = number<double>(entry->value);
  if (value && *value >= low && *value <= high) return *value;
  refuse(*entry, "a number from " + std::to_string(low) + " to " + std::to_string(high));
  return otherwise;
}

bool ReplayConfig::boolean(Names names, bool otherwise) const {
  const Entry* const entry = find(names);
  if (entry == nullptr) return otherwise;
  if (entry->value == "true" || entry->value == "True") return true;
  if (entry->value == "false" || entry->value == "False") return false;
  refuse(*entry, "true or false");
  return otherwise;
}

std::string ReplayConfig::text(Names names, const std::string& otherwise) const {
  const Entry* const entry = find(names);
  return entry == nullptr ? otherwise : entry->value;
}

std::vector<std::int64_t> ReplayConfig::pair(Names names, std::int64_t low, std::int64_t high,
                                             std::int64_t otherwise) const {
  const Entry* const entry = find(names);
  if (entry == nullptr) return {otherwise, otherwise};
  std::string text = entry->value;
  for (char& c : text) {
    if (c == 'x' || c == 'X' || c == '*') c = ',';
  }
  if (text.empty() || text.front() != '[') text = "[" + text + "]";
  const Json json = Json::parse(text, nullptr, false);
  std::vector<std::int64_t> sizes;
  if (json.is_array() && json.size() == 2) {
    for (const Json& size : json) {
      if (size.is_number_integer() && size >= low && size <= high) sizes.push_back(size.get<std::int64_t>());
    }
  }
  if (sizes.size() == 2) return sizes;
  refuse(*entry, "two sizes from " + std::to_string(low) + " to " + std::to_string(high) + ", like 128x128");
  return {otherwise, otherwise};
}

}  // namespace moediff
