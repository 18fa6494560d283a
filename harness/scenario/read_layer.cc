// From the tree of a file to its layer: looks every key up in the schema.
#include <algorithm>

#include "harness/core/text.h"
#include "harness/scenario/axes.h"
#include "harness/scenario/layer.h"

namespace moediff {
namespace {

void read_section(const Node& node, const KeyRow& section, Layer& layer, std::vector<Error>& errors);

void read_structure(const KeyRow& row, const Entry& entry, Layer& layer, std::vector<Error>& errors) {
  if (row.path == "include") return;  // load_file reads it
  if (row.path == "axes") return read_axes(entry.value, layer, errors);
  if (row.path == "lockstep") return read_lockstep(entry.value, layer, errors);
  if (row.path == "expect") {
    layer.expect = read_expect(entry.value, errors);
    return;
  }
  layer.sections[entry.key] = entry.place;
  read_section(entry.value, row, layer, errors);
}

void read_entry(const Entry& entry, std::string_view section, Layer& layer, std::vector<Error>& errors) {
  const std::string path = section.empty() ? entry.key : std::string(section) + "." + entry.key;
  const KeyRow* row = entry.key.find('.') == std::string::npos ? find_key(path) : nullptr;
  if (row == nullptr) {
    report_unknown_key(entry, std::string(section), names_below(section), errors);
    layer.broken.insert(probably_meant(std::string(section), entry.key));
  } else if (row->role == KeyRole::structure) {
    read_structure(*row, entry, layer, errors);
  } else if (std::optional<Given> given = read_value(*row, entry.value, errors)) {
    add_setting(layer, {{row}, {{std::move(*given)}}, false, entry.place}, errors);
  } else {
    layer.broken.insert(row);
  }
}

void read_section(const Node& node, const KeyRow& section, Layer& layer, std::vector<Error>& errors) {
  if (node.kind != Node::Kind::map) {
    const std::string name(section.path);
    errors.push_back({node.place, describe(node), name + " must be a map",
                      "write its keys below " + name + ": " + join(names_below(name), ", ")});
    return;
  }
  for (const Entry& entry : node.entries) read_entry(entry, section.path, layer, errors);
}

}  // namespace

const KeyRow* probably_meant(const std::string& section, const std::string& name) {
  const std::string near =
      nearest(name, section == "axes" || section == "lockstep" ? axis_names() : names_below(section));
  if (section == "axes" || section == "lockstep") return find_axis_key(near);
  return find_key(section.empty() ? near : section + "." + near);
}

void report_unknown_key(const Entry& entry, const std::string& section, const std::vector<std::string>& known,
                        std::vector<Error>& errors) {
  std::string remedy = suggestion(entry.key, known, "");
  if (remedy.empty()) {
    const auto elsewhere =
        std::find_if(schema().begin(), schema().end(), [&](const KeyRow& row) { return last_name(row) == entry.key; });
    const std::size_t dot = elsewhere == schema().end() ? std::string::npos : elsewhere->path.rfind('.');
    if (elsewhere == schema().end()) {
      remedy = "the keys here are " + join(known, ", ");
    } else {
      remedy = dot == std::string::npos ? "it belongs at the top level"
                                        : "it belongs below " + std::string(elsewhere->path.substr(0, dot));
    }
  }
  errors.push_back({entry.place, entry.key,
                    section.empty() ? "there is no such key" : "there is no such key in " + section, remedy});
}

Layer read_layer(const Node& root, std::vector<Error>& errors) {
  Layer layer;
  layer.place = root.place;
  for (const Entry& entry : root.entries) read_entry(entry, "", layer, errors);
  layer.broken.erase(nullptr);
  return layer;
}

}  // namespace moediff
