// The schema table agrees with itself, with the defaults of a case, and with scenarios/README.md.
#include "harness/scenario/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "harness/scenario/scenario.h"

namespace moediff {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;

TEST(Schema, LastNamesOfAxesAreUnique) {
  const std::vector<std::string> names = axis_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(Schema, EveryKeyStandsBelowASectionOfTheSchema) {
  for (const KeyRow& row : schema()) {
    const std::size_t dot = row.path.rfind('.');
    if (dot == std::string_view::npos) continue;
    const KeyRow* section = find_key(row.path.substr(0, dot));
    ASSERT_NE(section, nullptr) << row.path;
    EXPECT_EQ(section->role, KeyRole::structure) << row.path;
  }
}

TEST(Schema, ValuesCanBeWrittenAndReadBack) {
  for (const KeyRow& row : schema()) {
    if (row.role == KeyRole::structure) continue;
    EXPECT_NE(row.get, nullptr) << row.path;
    EXPECT_EQ(row.set == nullptr, row.role == KeyRole::derived) << row.path;
    if (row.type == KeyType::boolean) {
      EXPECT_NE(row.id_form.find('|'), std::string_view::npos) << row.path;
    }
    if (row.type == KeyType::integer || row.type == KeyType::number) {
      EXPECT_LT(row.range.least, row.range.most) << row.path;
    }
  }
}

TEST(Schema, DefaultsAreThoseOfACase) {
  const Case fresh;
  for (const KeyRow& row : schema()) {
    if (row.role != KeyRole::axis || row.fallback == kRequired) continue;
    EXPECT_EQ(row.get(fresh), row.fallback) << row.path;
  }
}

std::vector<std::string> table_of_readme() {
  std::ifstream readme(MOEDIFF_SOURCE_DIR "/scenarios/README.md");
  std::vector<std::string> rows;
  bool keys = false;
  for (std::string line; std::getline(readme, line);) {
    keys = keys || line == "## Keys";
    if (keys && line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

TEST(Schema, TheReadmeListsExactlyItsKeys) {
  std::vector<std::string> expected;
  for (const SchemaKey& key : schema_keys()) {
    const std::string fallback = key.default_value.empty() ? "" : "`" + key.default_value + "`";
    expected.push_back("| `" + key.path + "` | " + key.type + " | " + fallback + " | " + key.meaning + " |");
  }
  EXPECT_THAT(table_of_readme(), ElementsAreArray(expected));
  EXPECT_THAT(
      expected,
      Contains("| `model.top_k` | whole number from 1 to 4096 | `required` | experts a token (num_experts_per_tok) |"));
}

}  // namespace
}  // namespace moediff
