// `moediff explain TOPIC`: the tables of the program, and the cases of a report, in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/verbs.h"
#include "harness/core/error.h"
#include "harness/core/text.h"
#include "harness/model/ops.h"
#include "harness/model/quant.h"
#include "harness/model/verdict_words.h"
#include "harness/program/fault_table.h"
#include "harness/relate/relation.h"
#include "harness/scenario/scenario.h"

namespace moediff {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// Words of records and reports that no other table has.
struct Word {
  std::string_view name, meaning;
};
constexpr std::array<Word, 13> kWords{{
    {"local", "a stage recomputed from the candidate's own inputs to it; decides"},
    {"as_read", "a failing stage recomputed from the bytes it really read"},
    {"chained", "the layer's output recomputed from its inputs, with the error of all roundings together; decides too"},
    {"budget_used", "largest error over the error that rounding can make; 1 is the limit"},
    {"sufficient_tolerance",
     "the least t with |actual - expected| <= t + t |expected|: the atol = rtol that would have passed"},
    {"exact", "no error was allowed: integers, copies, codes, or data on which the arithmetic does not round"},
    {"flippable",
     "codes whose value lies so near a boundary that rounding may take either; their step is in the bound"},
    {"near_ties", "tokens whose choice of experts hangs on a difference that rounding can make"},
    {"certain", "beyond the hard bound: no sequence of roundings explains the result"},
    {"caught", "a fault that was planted, or a failure that the scenario expects, and that came out as expected"},
    {"proved", "one intervention alone made the result right"},
    {"witness", "a schedule that the waits allow and that shows the hazard"},
    {"variation", "a change of the batch or of unused weights that must not change the tokens' results"},
}};

/// Is `word` one of the values of a key whose type reads "one of a, b, c"?
bool takes_word(const SchemaKey& key, const std::string& word) {
  constexpr std::string_view kList = "one of ";
  if (key.type.rfind(kList, 0) != 0) return false;
  return (", " + key.type.substr(kList.size()) + ",").find(", " + word + ",") != std::string::npos;
}

/// A quantisation scheme; a key of the scenario schema, by its path or its last name; a value of one.
std::string from_schema(const std::string& topic) {
  for (const QuantRow& row : kQuantSchemes) {
    if (row.name == topic) return fmt::format("{} (a quantisation scheme): {}.\n", row.name, row.meaning);
  }
  for (const SchemaKey& key : schema_keys()) {
    if (key.path != topic && key.path.substr(key.path.rfind('.') + 1) != topic) continue;
    const std::string fallback = key.default_value.empty() ? "" : ", default " + key.default_value;
    return fmt::format("{} (a scenario key): {}. {}{}.\n", key.path, key.meaning, key.type, fallback);
  }
  for (const SchemaKey& key : schema_keys()) {
    if (takes_word(key, topic)) return fmt::format("{} (a value of {}): {}.\n", topic, key.path, key.meaning);
  }
  return "";
}

std::string slots_of(const OpRow& op) {
  std::string text;
  for (int i = 0; i < op.slot_count; ++i) {
    const Slot& slot = op.slots[static_cast<std::size_t>(i)];
    const char* use = slot.use == SlotUse::write ? "writes" : slot.use == SlotUse::scratch ? "scratch" : "reads";
    text += fmt::format("  {} {}\n", use, slot.name);
  }
  return text;
}

// The topic in the program's own tables; "" when no table has it.
std::string from_tables(const std::string& topic) {
  for (const CauseRow& row : kCauses) {
    if (row.name == topic) return fmt::format("{} (a cause): {}.\n", row.name, row.meaning);
  }
  for (const OpRow& row : kOps) {
    if (row.name == topic) return fmt::format("{} (a stage): {}\n{}", row.name, row.formula, slots_of(row));
  }
  for (const RelationRow& row : relations()) {
    if (row.name == topic) return fmt::format("{} (a relation, {}): {}.\n", row.name, row.rule, row.meaning);
  }
  if (const FaultRow* row = find_fault(topic)) {
    return fmt::format("{} (a fault, {}, planted {}): {}.\nNeeds: {}.\nReport: {}.\n", row->name, row->id, row->planted,
                       row->summary, row->needs, row->report);
  }
  for (const Word& word : kWords) {
    if (word.name == topic) return fmt::format("{}: {}.\n", word.name, word.meaning);
  }
  return from_schema(topic);
}

std::vector<std::string> topics() {
  std::vector<std::string> names;
  for (const CauseRow& row : kCauses) names.emplace_back(row.name);
  for (const OpRow& row : kOps) names.emplace_back(row.name);
  for (const RelationRow& row : relations()) names.emplace_back(row.name);
  for (const FaultRow& row : faults()) names.emplace_back(row.name);
  for (const Word& word : kWords) names.emplace_back(word.name);
  for (const QuantRow& row : kQuantSchemes) names.emplace_back(row.name);
  for (const SchemaKey& key : schema_keys()) names.push_back(key.path);
  return names;
}

std::string text_or_dash(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() || found->get<std::string>().empty() ? "-"
                                                                                           : found->get<std::string>();
}

std::string tell_case(const nlohmann::json& record) {
  std::string text = fmt::format("{}\n  status {} ({}), cause {}, confidence {}\n", text_or_dash(record, "case"),
                                 text_or_dash(record, "status"),
                                 record.value("as_expected", false) ? "as expected" : "NOT as expected",
                                 text_or_dash(record, "cause"), text_or_dash(record, "confidence"));
  text += "  " + text_or_dash(record, "explanation") + "\n";
  if (const std::string cause = text_or_dash(record, "cause"); cause != "-") text += "  " + from_tables(cause);
  if (const std::string reason = text_or_dash(record, "skip_reason"); reason != "-")
    text += "  skipped: " + reason + "\n";
  for (const auto& evidence : record.value("evidence", nlohmann::json::array())) {
    text +=
        fmt::format("  {}: {} -> {} of max|expected|: {}\n", text_or_dash(evidence, "intervention"),
                    short_number(evidence.value("worst_before", 0.0)), short_number(evidence.value("worst_after", 0.0)),
                    evidence.value("cured", false) ? "cured" : "not cured");
  }
  return text + "  again: " + text_or_dash(record, "repro") + "\n";
}

nlohmann::json load_report(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw UserError(Error{{path, 0, 0},
                          "",
                          "the report cannot be opened",
                          "run `moediff run … --out out` first, or name one with --report"});
  nlohmann::json report = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded() || !report.is_object() || !report.contains("records")) {
    throw UserError(
        Error{{path, 0, 0}, "", "this is not a moediff JSON report", "name a file that `moediff run --json` wrote"});
  }
  return report;
}

bool stands_for(const nlohmann::json& record, const std::string& id) {
  if (text_or_dash(record, "case") == id) return true;
  const auto collapsed = record.value("collapsed", nlohmann::json::array());
  return std::find(collapsed.begin(), collapsed.end(), id) != collapsed.end();
}

}  // namespace

int explain(const Command& command) {
  if (const std::string text = from_tables(command.topic); !text.empty()) {
    print(text);
    return 0;
  }
  if (command.topic.find('/') == std::string::npos) {
    const std::string near = nearest(command.topic, topics());
    throw UserError(
        Error{{"explain", 0, 0},
              command.topic,
              "the topic is no cause, stage, relation, fault, word of a report, scenario key or case id",
              near.empty() ? "`moediff explain stale_read` is an example" : "did you mean '" + near + "'?"});
  }
  const nlohmann::json report = load_report(command.report);
  for (const nlohmann::json& record : report["records"]) {
    if (!stands_for(record, command.topic)) continue;
    print(tell_case(record));
    return 0;
  }
  throw UserError(Error{
      {command.report, 0, 0}, command.topic, "the report has no such case", "`moediff list PATH` prints the ids"});
}

}  // namespace moediff
