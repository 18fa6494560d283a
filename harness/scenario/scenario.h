// Scenario files: strict, typed YAML that expands to cases. The schema is one table (schema.cc), from which
// scenarios/README.md's key list is checked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/scenario/case.h"

namespace moediff {

/// Expands the scenarios in the given files and folders (*.yaml below a folder, sorted; files that only serve `include`
/// have no top-level `scenario` key and are left out of folders). `seed_override` replaces the scenarios' seeds.
/// Reports every mistake of every file at once (UserError). Cases with a skip_reason are included.
std::vector<Case> load_cases(std::span<const std::string> paths, const std::uint64_t* seed_override = nullptr);

/// The case in canonical YAML: every key, `effective_stream` included. Loading it again gives the same case.
std::string canonical_yaml(const Case& spec);

/// One key of the schema, for documentation and its test.
struct SchemaKey {
  std::string path, type, default_value, meaning;
};
std::vector<SchemaKey> schema_keys();

}  // namespace moediff
