// `moediff sensitivity`: the table of planted defects, as text and as Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/cli/verbs.h"
#include "harness/cli/write_file.h"
#include "harness/core/text.h"
#include "harness/sensitivity/measure.h"
#include "harness/sensitivity/rivals.h"

namespace moediff {
namespace {

std::string shape_of(const Defect& defect) {
  const Case c = healthy_case(defect);
  std::string text = fmt::format("{}x{}, inter {}, {} of {}, {}", c.tokens, c.shape.hidden, c.shape.inter,
                                 c.shape.top_k, c.shape.experts, to_string(c.dtype));
  if (c.quant.scheme != QuantScheme::none) text += fmt::format(", {}", to_string(c.quant.scheme));
  if (c.input.distribution != Distribution::normal) text += fmt::format(", {}", to_string(c.input.distribution));
  return text;
}

std::string ours(const Measured& m) {
  if (!m.problem.empty()) return m.problem;
  if (!m.control_passes) return "rejects the healthy candidate too";
  if (!m.caught) return m.changed == 0 ? "no: nothing stored changed" : "no";
  const std::string budget = m.budget_used > 0 ? fmt::format(", {} x budget", short_number(m.budget_used)) : "";
  return fmt::format("yes: {}{}{}", m.where, budget, m.certain ? ", certain" : "");
}

/// A check that rejects the healthy candidate too has said nothing.
bool caught_by(const Measured& m, std::size_t rival) {
  return rival < m.rivals.size() && m.rivals[rival] && !m.rivals_cry_wolf[rival];
}

std::string_view word(const Measured& m, std::size_t rival) {
  if (rival >= m.rivals.size()) return "";
  return m.rivals_cry_wolf[rival] ? "rejects the healthy one too" : m.rivals[rival] ? "yes" : "no";
}

std::string markdown(std::span<const Measured> all) {
  std::string text = "| defect | stage | shape | elements changed | ours |";
  for (const Rival& rival : rivals()) text += fmt::format(" {} |", rival.name);
  text += "\n|---|---|---|---|---|";
  for (std::size_t i = 0; i < rivals().size(); ++i) text += "---|";
  text += "\n";
  for (const Measured& m : all) {
    text += fmt::format("| {} | {} | {} | {} | {} |", m.defect->name, m.defect->stage, shape_of(*m.defect), m.changed,
                        ours(m));
    for (std::size_t i = 0; i < rivals().size(); ++i) text += fmt::format(" {} |", word(m, i));
    text += "\n";
  }
  return text;
}

std::string totals(std::span<const Measured> all) {
  const auto count = [&](auto caught) { return std::count_if(all.begin(), all.end(), caught); };
  std::string text =
      fmt::format("caught of {}: ours {}", all.size(), count([](const Measured& m) { return m.caught; }));
  for (std::size_t i = 0; i < rivals().size(); ++i) {
    text += fmt::format(", {} {}", rivals()[i].name, count([&](const Measured& m) { return caught_by(m, i); }));
  }
  return text + "\n";
}

std::string reasons(std::span<const Measured> all) {
  std::string text;
  for (const Measured& m : all) {
    if (!m.caught && !m.defect->invisible.empty())
      text += fmt::format("- {}: {}.\n", m.defect->name, m.defect->invisible);
  }
  return text.empty() ? "" : "\nNot caught, and why:\n\n" + text;
}

nlohmann::json as_json(const Measured& m) {
  nlohmann::json caught = nlohmann::json::object();
  for (std::size_t i = 0; i < m.rivals.size(); ++i) caught[std::string(rivals()[i].name)] = caught_by(m, i);
  return {{"defect", m.defect->name},
          {"stage", m.defect->stage},
          {"meaning", m.defect->meaning},
          {"shape", shape_of(*m.defect)},
          {"changed", m.changed},
          {"control_passes", m.control_passes},
          {"caught", m.caught},
          {"certain", m.certain},
          {"where", m.where},
          {"budget_used", m.budget_used},
          {"others", caught},
          {"invisible_because", m.defect->invisible},
          {"as_expected", m.as_expected()},
          {"problem", m.problem}};
}

}  // namespace

int show_sensitivity(const Command& command) {
  for (const std::string& path : {command.out, command.json}) {
    if (!path.empty()) check_target(path);
  }
  const auto executor = make_executor({command.backend, "", command.in_process});
  std::vector<Measured> all;
  nlohmann::json rows = nlohmann::json::array();
  for (const Defect& defect : defects()) {
    if (!command.filter.empty() && !glob_match(command.filter, defect.name)) continue;
    all.push_back(measure(defect, *executor));
    const Measured& m = all.back();
    std::fputs(fmt::format("{} {:<52} {}\n", m.as_expected() ? " " : "!", defect.name, ours(m)).c_str(), stdout);
    std::fflush(stdout);
    rows.push_back(as_json(m));
  }
  std::fputs((totals(all) + reasons(all)).c_str(), stdout);
  if (!command.out.empty()) write_file(command.out, markdown(all) + "\n" + totals(all) + reasons(all));
  if (!command.json.empty())
    write_file(command.json, nlohmann::json{{"schema_version", 1}, {"rows", rows}}.dump(2) + "\n");
  if (all.empty()) {
    std::fputs("moediff: nothing was checked: no defect matches\n", stderr);
    return 3;
  }
  return std::all_of(all.begin(), all.end(), [](const Measured& m) { return m.as_expected(); }) ? 0 : 1;
}

}  // namespace moediff
