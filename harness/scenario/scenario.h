// Scenario files: strict, typed YAML that expands to cases. The schema is one table (schema_table.cc), from which
// parsing, defaults, `when:` rules, canonical YAML and scenarios/README.md's key list follow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/scenario/case.h"

namespace moediff {

struct LoadOptions {
  std::optional<std::uint64_t> seed_override;      ///< replaces the seeds of all scenarios; at most 2^53
  std::span<const std::string> known_faults = {};  ///< names that `fault:` may have besides none; empty: not checked
};

/// Expands the scenarios in the given files and folders (*.yaml below a folder, sorted; files that only serve `include`
/// have no top-level `scenario` key and are left out of folders). A file that is named twice is loaded once.
/// Throws UserError with every mistake of every file. Cases with a skip_reason are included; ids are unique.
std::vector<Case> load_cases(std::span<const std::string> paths, const LoadOptions& options = {});

/// The case in canonical YAML: every key, `effective_stream` included. Loading it again gives the same case, but for
/// `scenario`, `axes` and a skip reason that rests on a neighbour (given as a comment). Paths are written relative to
/// the folder of the case's scenario, so the text belongs there.
std::string canonical_yaml(const Case& spec);

/// One key of the schema, for documentation and its test.
struct SchemaKey {
  std::string path, type, default_value, meaning;
};
std::vector<SchemaKey> schema_keys();

}  // namespace moediff
