#include "harness/scenario/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/scenario/applicability.h"
#include "harness/scenario/axes.h"
#include "harness/scenario/case_id.h"
#include "harness/scenario/case_rules.h"
#include "harness/scenario/effective_stream.h"

namespace moediff {
namespace {

// Returns the keys that have no usable value.
std::set<const KeyRow*> check_required(const Layer& layer, std::vector<Error>& errors) {
  std::set<const KeyRow*> unknown = layer.broken;
  for (const KeyRow& row : schema()) {
    if (row.fallback != kRequired || find_setting(layer, row) != nullptr || !unknown.insert(&row).second ||
        layer.incomplete)
      continue;
    const std::string_view section = row.path.substr(0, row.path.find('.'));
    const auto place = layer.sections.find(section);
    errors.push_back({place == layer.sections.end() ? layer.place : place->second, "",
                      std::string(row.path) + " is required",
                      fmt::format("add {}: {} ({})", last_name(row), type_text(row), row.meaning)});
  }
  return unknown;
}

// Names of faults are known to a higher layer; where it passes them in, they are checked like any word.
void check_faults(const Layer& layer, const LoadOptions& options, std::vector<Error>& errors) {
  const KeyRow& fault = *find_key("fault");
  const Setting* setting = find_setting(layer, fault);
  if (setting == nullptr || options.known_faults.empty()) return;
  const auto column =
      static_cast<std::size_t>(std::find(setting->keys.begin(), setting->keys.end(), &fault) - setting->keys.begin());
  std::vector<std::string> known(options.known_faults.begin(), options.known_faults.end());
  known.push_back("none");
  for (const std::vector<Given>& values : setting->rows) {
    const Given& value = values[column];
    if (std::find(known.begin(), known.end(), value.text) != known.end()) continue;
    errors.push_back({value.place, value.written, "there is no such fault",
                      suggestion(value.text, known, "`moediff faults` lists them")});
  }
}

void check_drop_wait_is_used(const Layer& layer, const std::vector<Draft>& drafts, std::vector<Error>& errors) {
  const Setting* setting = find_setting(layer, *find_key("drop_wait"));
  const auto drops = [](const Draft& draft) { return draft.spec.fault == "drop_wait"; };
  if (setting == nullptr || std::any_of(drafts.begin(), drafts.end(), drops)) return;
  errors.push_back({setting->place, "drop_wait", "drop_wait is used only with fault: drop_wait",
                    "add that fault, or remove the key"});
}

std::size_t count_cases(const Layer& layer, std::vector<Error>& errors) {
  std::size_t count = 1;
  for (const Setting& setting : layer.settings) {
    count *= setting.rows.size();
    if (count <= kMaxCases) continue;
    errors.push_back({setting.place, std::string(last_name(*setting.keys.front())),
                      fmt::format("the axes multiply to more than {} cases", kMaxCases),
                      "shorten the lists, or split the scenario"});
    return 0;
  }
  return count;
}

/// Which row of every setting a case takes, from its number.
std::vector<std::size_t> chosen_rows(const Layer& layer, std::size_t number) {
  std::vector<std::size_t> rows(layer.settings.size());
  for (std::size_t s = rows.size(); s-- > 0;) {
    rows[s] = number % layer.settings[s].rows.size();
    number /= layer.settings[s].rows.size();
  }
  return rows;
}

Draft draft_case(const Layer& layer, const std::vector<std::size_t>& rows) {
  Draft draft;
  draft.given.resize(schema().size());
  for (const KeyRow& row : schema()) {
    const bool has_default =
        row.set != nullptr && row.role != KeyRole::expectation && !row.fallback.empty() && row.fallback != kRequired;
    if (has_default) row.set(draft.spec, row.fallback);
  }
  for (std::size_t s = 0; s < rows.size(); ++s) {
    const Setting& setting = layer.settings[s];
    for (std::size_t k = 0; k < setting.keys.size(); ++k) {
      const Given& value = setting.rows[rows[s]][k];
      draft.given[index_of(*setting.keys[k])] = &value;
      if (setting.keys[k]->set != nullptr) setting.keys[k]->set(draft.spec, value.text);
    }
  }
  return draft;
}

// What follows from the keys: the stream that takes effect, the id, the axes for reports.
void complete(Case& spec, const Layer& layer, const std::vector<std::size_t>& rows,
              const std::vector<std::vector<std::string>>& parts) {
  spec.effective_stream =
      effective_stream(spec.stream, batch_rows(spec), spec.chunk, spec.aux_threshold, spec.shape.n_shared);
  if (const auto input = layer.sections.find("input"); input != layer.sections.end()) spec.input.place = input->second;
  std::string tail;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    const Setting& setting = layer.settings[s];
    if (!setting.axis) continue;
    if (setting.rows.size() > 1) tail += (tail.empty() ? "/" : "-") + parts[s][rows[s]];
    for (const KeyRow* key : setting.keys) spec.axes.emplace_back(last_name(*key), key->get(spec));
  }
  spec.id += tail;
  for (const char* always : {"effective_stream", "model.n_shared"}) {
    const KeyRow& row = *find_key(always);
    const auto same = [&](const auto& axis) { return axis.first == last_name(row); };
    if (std::none_of(spec.axes.begin(), spec.axes.end(), same)) spec.axes.emplace_back(last_name(row), row.get(spec));
  }
}

}  // namespace

std::vector<Case> expand(const Layer& layer, const std::string& path, const LoadOptions& options,
                         std::vector<Error>& errors) {
  const std::set<const KeyRow*> unknown = check_required(layer, errors);
  check_faults(layer, options, errors);
  const std::size_t count = count_cases(layer, errors);

  std::vector<std::vector<std::string>> parts;
  for (const Setting& setting : layer.settings) parts.push_back(id_parts(setting));
  std::vector<Draft> drafts;
  for (std::size_t number = 0; number < count; ++number) {
    const std::vector<std::size_t> rows = chosen_rows(layer, number);
    Draft draft = draft_case(layer, rows);
    draft.spec.scenario = path;
    if (draft.spec.id.empty()) draft.spec.id = id_of_file(path);
    if (options.seed_override) draft.spec.seed = *options.seed_override;
    complete(draft.spec, layer, rows, parts);
    check_case(draft, unknown, layer.place, errors);
    drafts.push_back(std::move(draft));
  }
  if (!unknown.contains(find_key("fault"))) check_drop_wait_is_used(layer, drafts, errors);
  if (!errors.empty()) return {};

  std::vector<Case> cases;
  for (Draft& draft : drafts) {
    if (draft.spec.fault != "drop_wait") draft.spec.drop_wait.clear();
    cases.push_back(std::move(draft.spec));
  }
  mark_inapplicable(cases);
  if (layer.expect) apply_expectations(*layer.expect, cases, errors);
  return errors.empty() ? cases : std::vector<Case>{};
}

}  // namespace moediff
