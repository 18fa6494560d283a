// load_cases: finds the files, loads and expands each, and reports what is wrong in all of them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "harness/scenario/expand.h"
#include "harness/scenario/layer.h"
#include "harness/scenario/scenario.h"

namespace moediff {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  bool from_folder = false;
};

void report(const Place& place, const std::string& found, const std::string& rule, const std::string& remedy,
            std::vector<Error>& errors) {
  errors.push_back({place, found, rule, remedy});
}

void add_folder(const std::string& folder, std::vector<File>& files, std::vector<Error>& errors) {
  std::vector<std::string> found;
  std::error_code problem;
  for (fs::recursive_directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code ignored;
    if (entry->path().extension() == ".yaml" && !entry->is_directory(ignored))
      found.push_back(entry->path().lexically_normal().string());
  }
  if (problem)
    report(Place{folder, 0, 0}, folder, "the folder cannot be read: " + problem.message(), "check its permissions",
           errors);
  std::sort(found.begin(), found.end());
  for (std::string& path : found) files.push_back({std::move(path), true});
}

std::vector<File> find_files(std::span<const std::string> paths, std::vector<Error>& errors) {
  std::vector<File> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files, errors);
    } else {
      files.push_back({path, false});
    }
  }
  std::set<fs::path> seen;
  std::erase_if(files, [&](const File& file) {
    std::error_code unresolved;  // reading the file reports it
    const fs::path resolved = fs::weakly_canonical(file.path, unresolved);
    return !seen.insert(unresolved ? fs::path(file.path) : resolved).second;
  });
  return files;
}

void check_unique(const std::vector<Case>& cases, std::vector<Error>& errors) {
  std::map<std::string, std::string> seen;
  for (const Case& spec : cases) {
    const auto [earlier, fresh] = seen.emplace(spec.id, spec.scenario);
    if (fresh) continue;
    const bool same_file = earlier->second == spec.scenario;
    report(
        Place{spec.scenario, 1, 1}, spec.id,
        "two cases have this id" + (same_file ? "" : ", the other in " + earlier->second),
        same_file ? "let the values of the axes differ in more than signs" : "rename the file, or give it a key `id`",
        errors);
  }
}

// File by file and from top to bottom, as a person mends them.
bool comes_before(const Error& a, const Error& b) {
  return std::tie(a.place.file, a.place.line, a.place.column) < std::tie(b.place.file, b.place.line, b.place.column);
}

// A file that several scenarios include is read with each of them; its mistakes are reported once.
void remove_repeated(std::vector<Error>& errors) {
  std::set<std::string> seen;
  std::erase_if(errors, [&](const Error& error) { return !seen.insert(to_string(error)).second; });
}

void check_seed(const LoadOptions& options, std::vector<Error>& errors) {
  constexpr std::uint64_t kMaxSeed = std::uint64_t{1} << 53;
  if (!options.seed_override || *options.seed_override <= kMaxSeed) return;
  report(Place{"command line", 0, 0}, std::to_string(*options.seed_override), "the seed must be at most 2^53",
         "use a smaller seed", errors);
}

}  // namespace

std::vector<Case> load_cases(std::span<const std::string> paths, const LoadOptions& options) {
  std::vector<Error> errors;
  check_seed(options, errors);
  std::vector<Case> cases;
  const std::vector<File> files = find_files(paths, errors);
  bool any_scenario = false;
  for (const File& file : files) {
    std::vector<Error> mine;
    const std::optional<LoadedFile> loaded = load_file(file.path, mine);
    const bool only_included = loaded && file.from_folder && !loaded->is_scenario;
    std::vector<Case> expanded;
    if (loaded && !only_included) expanded = expand(loaded->layer, file.path, options, mine);
    any_scenario = any_scenario || !only_included;
    std::stable_sort(mine.begin(), mine.end(), comes_before);
    std::move(expanded.begin(), expanded.end(), std::back_inserter(cases));
    std::move(mine.begin(), mine.end(), std::back_inserter(errors));
  }
  if (!any_scenario && errors.empty()) {
    const std::string where = paths.empty() ? "command line" : paths.front();
    report(Place{where, 0, 0}, "", "there is no scenario here",
           "name a *.yaml file, or a folder that holds files with a top-level `scenario` key", errors);
  }
  check_unique(cases, errors);
  remove_repeated(errors);
  if (!errors.empty()) throw UserError(std::move(errors));
  return cases;
}

}  // namespace moediff
