// Files and their includes: read depth first, each over what it includes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/text.h"
#include "harness/scenario/layer.h"

namespace moediff {
namespace {

namespace fs = std::filesystem;

class Loader {
 public:
  explicit Loader(std::vector<Error>& errors) : errors_(errors) {}

  /// `asked` is the place that names the file.
  std::optional<LoadedFile> load(const std::string& path, const Place& asked) {
    if (!check_cycle(path, asked)) return std::nullopt;
    const std::optional<std::string> text = read(path, asked);
    if (!text) return std::nullopt;
    const std::optional<Node> root = parse_yaml(path, *text, errors_);
    if (!root) return std::nullopt;
    if (root->kind != Node::Kind::map) {
      errors_.push_back({root->place, describe(*root), "a scenario is a map of keys and values",
                         "write `scenario: TITLE` and the other keys below"});
      return std::nullopt;
    }
    open_.push_back(path);
    LoadedFile file{read_layer(*root, errors_), has_title(*root)};
    if (std::optional<Layer> base = load_includes(*root)) file.layer = merge(std::move(*base), std::move(file.layer));
    file.layer.incomplete = unread_;
    open_.pop_back();
    return file;
  }

 private:
  // A path that cannot be resolved (a loop of links, a name too long) is told apart by its text; reading it reports it.
  static std::string identity(const std::string& path) {
    std::error_code problem;
    const fs::path resolved = fs::weakly_canonical(path, problem);
    return problem ? path : resolved.string();
  }

  bool check_cycle(const std::string& path, const Place& asked) {
    const auto same = [&](const std::string& open) { return identity(open) == identity(path); };
    const auto first = std::find_if(open_.begin(), open_.end(), same);
    if (first == open_.end()) return true;
    std::vector<std::string> chain(first, open_.end());
    chain.push_back(path);
    errors_.push_back(
        {asked, path, "the file includes itself: " + join(chain, " -> "), "remove one of these includes"});
    return false;
  }

  std::optional<std::string> read(const std::string& path, const Place& asked) {
    std::error_code problem;
    const bool exists = fs::exists(path, problem) || problem;
    // Regular files only: a pipe that nobody writes to would be waited for without end.
    const bool regular = fs::is_regular_file(path, problem);
    std::ifstream stream;
    if (regular) stream.open(path, std::ios::binary);
    if (!regular || !stream) {
      errors_.push_back({asked, path, exists ? "this is not a file that can be read" : "there is no such file",
                         asked.line > 0 ? "an include is a path relative to the folder of its own file"
                                        : "name a scenario file or a folder"});
      return std::nullopt;
    }
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  static bool has_title(const Node& root) {
    return std::any_of(root.entries.begin(), root.entries.end(), [](const Entry& e) { return e.key == "scenario"; });
  }

  // All files that `include` names, a later one over an earlier one.
  std::optional<Layer> load_includes(const Node& root) {
    const auto include =
        std::find_if(root.entries.begin(), root.entries.end(), [](const Entry& e) { return e.key == "include"; });
    if (include == root.entries.end()) return std::nullopt;
    std::optional<Layer> base;
    const std::vector<Node> single{include->value};
    for (const Node& item : include->value.kind == Node::Kind::list ? include->value.items : single) {
      const std::optional<Given> path =
          read_value(KeyRow{"include", KeyType::path, KeyRole::structure, "", ""}, item, errors_);
      if (!path) {
        unread_ = true;
        continue;
      }
      std::optional<LoadedFile> file = load(path->text, item.place);
      if (!file) {
        unread_ = true;
        continue;
      }
      base = base ? merge(std::move(*base), std::move(file->layer)) : std::move(file->layer);
    }
    return base;
  }

  std::vector<Error>& errors_;
  bool unread_ = false;            // some include could not be read
  std::vector<std::string> open_;  // the files that are being read, outermost first
};

}  // namespace

std::optional<LoadedFile> load_file(const std::string& path, std::vector<Error>& errors) {
  return Loader(errors).load(path, Place{path, 0, 0});
}

}  // namespace moediff
