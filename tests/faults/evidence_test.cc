// What cures a fault is its cause; what does not cure it is reported too (architecture §6).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "tests/cli/program.h"

namespace moediff {
namespace {

using Json = nlohmann::json;

struct Row {
  const char *file, *case_glob, *cure, *no_cure;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.file << " " << row.case_glob; }

const Row kRows[] = {
    {"alias1", "*submission-alias1-c0", "restore hidden_states before shared_gemm1", "synchronise"},
    {"alias1", "*submission-alias1-c4", "restore staging_hidden before shared_gemm1", "synchronise"},
    {"alias1_undeclared", "*submission-alias1_undeclared", "restore hidden_states before shared_gemm1", "synchronise"},
    {"alias2", "*submission-alias2", "restore hidden_states before residual_add", "synchronise"},
    {"alias2_undeclared", "*submission-alias2_undeclared", "restore hidden_states before residual_add", "synchronise"},
    {"stream1", "*submission-stream1", "make combine wait for clone_hidden", "witness"},
    {"workspace1", "*submission-workspace1", "give every op a workspace of its own", "never reuse"},
    {"workspace1_undeclared", "*submission-workspace1_undeclared", "make shared_gemm1 wait for gemm1",
     "give every op a workspace of its own"},
    {"numbers", "*submission-wrong_math", "put the expected result in the place of gemm2's", "synchronise"},
    {"numbers", "*submission-wrong_expert", "put the expected result in the place of router's", "synchronise"},
    {"lifetime1", "*submission-shared_first-lifetime1", "never reuse freed memory", "witness"},
};

class Evidence : public ::testing::TestWithParam<Row> {};

TEST_P(Evidence, NamesWhatCuresAndWhatDoesNotWithBothNumbers) {
  const Row& row = GetParam();
  const cli::Folder folder;
  const std::string json = folder.path() + "/r.json";
  const cli::Result result = cli::moediff("run scenarios/faults/" + std::string(row.file) + ".yaml --filter '" +
                                          row.case_glob + "' --json " + json);
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  bool cured = false, not_cured = false;
  const Json record = cli::read_json(json)["records"][0];
  for (const Json& evidence : record["evidence"]) {
    const std::string what = evidence["intervention"];
    if (what.rfind(row.cure, 0) == 0) {
      cured = evidence["cured"];
      EXPECT_GT(evidence["worst_before"].get<double>(), 10 * evidence["worst_after"].get<double>()) << evidence;
    }
    if (what.rfind(row.no_cure, 0) == 0) not_cured = evidence["cured"] == false;
  }
  EXPECT_TRUE(cured) << row.cure << " in " << record["evidence"];
  EXPECT_TRUE(not_cured) << row.no_cure << " in " << record["evidence"];
  EXPECT_EQ(record["confidence"], "proved");
}

INSTANTIATE_TEST_SUITE_P(Faults, Evidence, ::testing::ValuesIn(kRows), [](const auto& row) {
  std::string name = std::string(row.param.file) + row.param.case_glob;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
});

}  // namespace
}  // namespace moediff
