// A JSON Schema validator for the keywords that reports/schema.json uses, and no others.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace moediff {

/// Every rule that `document` breaks, each as "place: rule". A keyword that the validator does not know is an error
/// too, so that no part of the schema is silently ignored.
std::vector<std::string> schema_errors(const nlohmann::json& schema, const nlohmann::json& document);

}  // namespace moediff
