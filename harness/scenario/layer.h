// A layer: what one file says, and what it and its includes say together. Keys are looked up and values checked;
// nothing is multiplied out yet.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/scenario/expect_rules.h"
#include "harness/scenario/schema.h"
#include "harness/scenario/value.h"
#include "harness/scenario/yaml_tree.h"

namespace moediff {

/// Keys that advance together, with the values they take: one key and one row of values when fixed, several rows for an
/// axis, several keys for a lockstep.
struct Setting {
  std::vector<const KeyRow*> keys;
  std::vector<std::vector<Given>> rows;  ///< rows[i][k]: value of keys[k]
  bool axis = false;
  Place place;
};

struct Layer {
  Place place;
  std::vector<Setting> settings;  ///< every key at most once; those of included files first
  std::optional<std::vector<ExpectRule>> expect;
  std::map<std::string, Place, std::less<>> sections;  ///< where `model` and `input` stand
  std::set<const KeyRow*> broken;  ///< keys whose values were refused: not missing, and not to be judged
  bool incomplete = false;         ///< an include could not be read: nothing can be called missing
};

/// The setting that gives a key, or null.
const Setting* find_setting(const Layer& layer, const KeyRow& row);
/// Adds a setting; a key that this layer has already is a mistake.
void add_setting(Layer& layer, Setting setting, std::vector<Error>& errors);
/// Key by key, what `over` says holds; the rest stays as `base` says.
Layer merge(Layer base, Layer over);

/// What the tree of one file says, `include` left aside.
Layer read_layer(const Node& root, std::vector<Error>& errors);

/// A file with its includes. `is_scenario`: the file itself has a top-level `scenario` key.
struct LoadedFile {
  Layer layer;
  bool is_scenario = false;
};
/// Nothing when the file cannot be read or is no map.
std::optional<LoadedFile> load_file(const std::string& path, std::vector<Error>& errors);

/// Reports a key that does not exist: suggests a near name, or the section where it belongs. `section`: "" = top level.
void report_unknown_key(const Entry& entry, const std::string& section, const std::vector<std::string>& known,
                        std::vector<Error>& errors);
/// The key that a misspelt name most likely means, or null.
const KeyRow* probably_meant(const std::string& section, const std::string& name);

}  // namespace moediff
