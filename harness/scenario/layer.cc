#include "harness/scenario/layer.h"

#include <algorithm>

namespace moediff {
namespace {

// Takes a key out of its setting; of a lockstep the other keys stay.
void remove_key(Layer& layer, const KeyRow& row) {
  for (Setting& setting : layer.settings) {
    const auto found = std::find(setting.keys.begin(), setting.keys.end(), &row);
    if (found == setting.keys.end()) continue;
    const auto column = found - setting.keys.begin();
    setting.keys.erase(found);
    for (std::vector<Given>& values : setting.rows) values.erase(values.begin() + column);
  }
  std::erase_if(layer.settings, [](const Setting& setting) { return setting.keys.empty(); });
}

}  // namespace

const Setting* find_setting(const Layer& layer, const KeyRow& row) {
  for (const Setting& setting : layer.settings) {
    if (std::find(setting.keys.begin(), setting.keys.end(), &row) != setting.keys.end()) return &setting;
  }
  return nullptr;
}

void add_setting(Layer& layer, Setting setting, std::vector<Error>& errors) {
  for (const KeyRow* key : setting.keys) {
    if (const Setting* earlier = find_setting(layer, *key)) {
      errors.push_back({setting.place, std::string(last_name(*key)),
                        "the key has a value already (line " + std::to_string(earlier->place.line) + ")",
                        "keep one: a fixed value, an axis, or a part of a lockstep"});
      return;
    }
  }
  layer.settings.push_back(std::move(setting));
}

Layer merge(Layer base, Layer over) {
  for (const Setting& setting : over.settings) {
    for (const KeyRow* key : setting.keys) remove_key(base, *key);
  }
  std::move(over.settings.begin(), over.settings.end(), std::back_inserter(base.settings));
  if (over.expect) base.expect = std::move(over.expect);
  for (auto& [name, place] : over.sections) base.sections.insert_or_assign(name, place);
  base.broken.insert(over.broken.begin(), over.broken.end());
  base.incomplete = base.incomplete || over.incomplete;
  base.place = over.place;
  return base;
}

}  // namespace moediff
