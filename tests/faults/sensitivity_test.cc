// Every planted defect is caught, or is one that its row declares invisible, and the page shows all of them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace moediff::cli {
namespace {

TEST(Sensitivity, EveryDefectComesOutAsItsRowSays) {
  const Folder folder;
  const std::string path = folder.path() + "/rows.json";
  const Result result = moediff("sensitivity --json " + path);
  EXPECT_EQ(result.status, 0) << result.out;
  const nlohmann::json rows = read_json(path)["rows"];
  std::ifstream page("docs/sensitivity.md");
  std::stringstream text;
  text << page.rdbuf();
  EXPECT_GE(rows.size(), 40u);
  int invisible = 0;
  for (const nlohmann::json& row : rows) {
    EXPECT_TRUE(row["as_expected"].get<bool>()) << row["defect"];
    EXPECT_NE(text.str().find("| " + row["defect"].get<std::string>() + " |"), std::string::npos) << row["defect"];
    invisible += row["caught"].get<bool>() ? 0 : 1;
    // What our check lets through, no stored value shows beyond a legitimate rounding: the field's checks see none
    // either.
    if (row["caught"].get<bool>()) continue;
    for (const auto& [check, caught] : row["others"].items()) EXPECT_FALSE(caught.get<bool>()) << check;
  }
  EXPECT_LE(invisible, 2);
}

}  // namespace
}  // namespace moediff::cli
