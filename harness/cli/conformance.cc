// `moediff conformance formats`: one line a conversion.
#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/cli/verbs.h"
#include "harness/cli/write_file.h"
#include "harness/conformance/formats.h"

namespace moediff {
namespace {

std::string as_code(const ConversionResult& result, std::uint32_t bits, bool input) {
  const bool is_float = input == result.conversion.encode;
  if (is_float) return fmt::format("{:.9g} (0x{:08x})", std::bit_cast<float>(bits), bits);
  return fmt::format("0x{:0{}x}", bits, 2 * size_of(result.conversion.format));
}

std::string line(const ConversionResult& result) {
  const std::string name = to_string(result.conversion);
  if (!result.refused.empty()) return fmt::format("{:<32} not checked: {}\n", name, result.refused);
  if (result.wrong == 0) return fmt::format("{:<32} right for all {}\n", name, result.checked);
  return fmt::format("{:<32} WRONG for {} of {}: {} gives {}, expected {}\n", name, result.wrong, result.checked,
                     as_code(result, result.first->input, true), as_code(result, result.first->actual, false),
                     as_code(result, result.first->expected, false));
}

nlohmann::json as_json(const ConversionResult& result) {
  nlohmann::json json{{"conversion", to_string(result.conversion)},
                      {"checked", result.checked},
                      {"wrong", result.wrong},
                      {"refused", result.refused.empty() ? nlohmann::json() : nlohmann::json(result.refused)},
                      {"first", nullptr}};
  if (result.first)
    json["first"] = {
        {"input", result.first->input}, {"expected", result.first->expected}, {"actual", result.first->actual}};
  return json;
}

}  // namespace

int check_conformance(const Command& command) {
  if (!command.json.empty()) check_target(command.json);
  ConformanceOptions options;
  options.provider.name = command.provider;
  options.all_floats = command.all_floats;
  options.filter = command.filter;
  options.timeout_seconds = command.timeout.value_or(options.timeout_seconds);
  const auto executor = make_executor({command.backend, "", command.in_process});
  std::int64_t checked = 0, wrong = 0;
  nlohmann::json all = nlohmann::json::array();
  check_conversions(*executor, options, [&](const ConversionResult& result) {
    std::fputs(line(result).c_str(), stdout);
    std::fflush(stdout);
    checked += result.checked;
    wrong += result.wrong;
    all.push_back(as_json(result));
  });
  if (!command.json.empty())
    write_file(
        command.json,
        nlohmann::json{{"schema_version", 1}, {"provider", command.provider}, {"conversions", all}}.dump(2) + "\n");
  if (wrong > 0) return 1;
  if (checked == 0)
    std::fputs("moediff: nothing was checked: no conversion matches, or the provider has none\n", stderr);
  return checked > 0 ? 0 : 3;
}

}  // namespace moediff
