// Method: one function a keyword, found in a table; each adds what it finds wrong to one list.
#include "tests/unit/reports/schema_validator.h"

#include <array>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

namespace moediff {
namespace {

using Json = nlohmann::json;

struct Check {
  const Json& root;
  std::vector<std::string>& errors;

  void fail(const std::string& place, const std::string& rule) const { errors.push_back(place + ": " + rule); }
  void run(const Json& schema, const Json& value, const std::string& place) const;
};

bool is_type(const std::string& type, const Json& v) {
  if (type == "null") return v.is_null();
  if (type == "boolean") return v.is_boolean();
  if (type == "integer") return v.is_number_integer();
  if (type == "number") return v.is_number();
  if (type == "string") return v.is_string();
  if (type == "array") return v.is_array();
  return type == "object" && v.is_object();
}

void check_type(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  const Json types = rule.is_array() ? rule : Json::array({rule});
  for (const Json& type : types) {
    if (is_type(type.get<std::string>(), value)) return;
  }
  check.fail(place, "type must be " + rule.dump());
}

void check_required(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  for (const Json& key : rule) {
    if (value.is_object() && !value.contains(key.get<std::string>())) check.fail(place, "lacks " + key.dump());
  }
}

void check_properties(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  if (!value.is_object()) return;
  for (const auto& [key, part] : rule.items()) {
    if (value.contains(key)) check.run(part, value[key], place + "." + key);
  }
}

void check_additional(const Check& check, const Json& rule, const Json& schema, const Json& value,
                      const std::string& place) {
  if (!value.is_object()) return;
  for (const auto& [key, part] : value.items()) {
    if (schema.contains("properties") && schema["properties"].contains(key)) continue;
    if (rule == false) {
      check.fail(place, "unknown key " + key);
    } else {
      check.run(rule, part, place + "." + key);
    }
  }
}

void check_items(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  if (!value.is_array()) return;
  for (std::size_t i = 0; i < value.size(); ++i) check.run(rule, value[i], place + "[" + std::to_string(i) + "]");
}

void check_enum(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  for (const Json& allowed : rule) {
    if (allowed == value) return;
  }
  check.fail(place, value.dump() + " is not one of " + rule.dump());
}

void check_const(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  if (rule != value) check.fail(place, value.dump() + " is not " + rule.dump());
}

void check_minimum(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  if (value.is_number() && value.get<double>() < rule.get<double>()) check.fail(place, "less than " + rule.dump());
}

void check_pattern(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  if (!value.is_string()) return;
  if (!std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()))) {
    check.fail(place, "does not match " + rule.dump());
  }
}

void check_any_of(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  std::string reasons;
  for (const Json& alternative : rule) {
    std::vector<std::string> errors;
    Check{check.root, errors}.run(alternative, value, place);
    if (errors.empty()) return;
    reasons += "\n    " + errors.front();
  }
  check.fail(place, "fits no alternative:" + reasons);
}

void check_ref(const Check& check, const Json& rule, const Json&, const Json& value, const std::string& place) {
  const std::string pointer = rule.get<std::string>().substr(1);  // after '#'
  check.run(check.root.at(Json::json_pointer(pointer)), value, place);
}

void only_words(const Check&, const Json&, const Json&, const Json&, const std::string&) {}

struct Keyword {
  std::string_view name;
  void (*check)(const Check&, const Json& rule, const Json& schema, const Json& value, const std::string& place);
};
constexpr std::array<Keyword, 15> kKeywords{{{"type", check_type},
                                             {"required", check_required},
                                             {"properties", check_properties},
                                             {"additionalProperties", check_additional},
                                             {"items", check_items},
                                             {"enum", check_enum},
                                             {"const", check_const},
                                             {"minimum", check_minimum},
                                             {"pattern", check_pattern},
                                             {"anyOf", check_any_of},
                                             {"$ref", check_ref},
                                             {"$schema", only_words},
                                             {"$defs", only_words},
                                             {"title", only_words},
                                             {"description", only_words}}};

void Check::run(const Json& schema, const Json& value, const std::string& place) const {
  for (const auto& [name, rule] : schema.items()) {
    bool known = false;
    for (const Keyword& keyword : kKeywords) {
      if (keyword.name != name) continue;
      known = true;
      keyword.check(*this, rule, schema, value, place);
    }
    if (!known) fail(place, "the validator does not know the keyword " + name);
  }
}

}  // namespace

std::vector<std::string> schema_errors(const Json& schema, const Json& document) {
  std::vector<std::string> errors;
  Check{schema, errors}.run(schema, document, "$");
  return errors;
}

}  // namespace moediff
