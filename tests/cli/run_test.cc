#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace moediff::cli {
namespace {

constexpr const char* kFounding =
    "axes: {stream: [none], order: [routed_first], in_place: [true], dtype: [bf16], tokens: [5]}\n";

TEST(Run, AllAsExpectedExitsWith0AndWritesThreeReports) {
  const Folder folder;
  const Result result = moediff("run " + folder.write("ok.yaml", small_scenario("axes: {tokens: [5]}\n")) + " --out " +
                                folder.path() + "/out");
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  for (const char* name : {"report.json", "report.xml", "report.html"}) {
    EXPECT_GT(std::filesystem::file_size(folder.path() + "/out/" + name), 300u) << name;
  }
  EXPECT_EQ(result.out.rfind("plan: 1 cases to run", 0), 0u) << result.out;
}

TEST(Run, AFailureNobodyExpectedExitsWith1AndIsExplained) {
  const Folder folder;
  const Result result = moediff("run " + folder.write("bug.yaml", small_scenario(kFounding)));
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_NE(result.out.find("stale_read"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("shared_gemm1"), std::string::npos);
  EXPECT_NE(result.out.find("hidden_states"), std::string::npos);
  EXPECT_NE(result.out.find("combine"), std::string::npos);
}

TEST(Run, AnUnexpectedPassOfAKnownFailureIsAFailure) {
  const Folder folder;
  const std::string path =
      folder.write("gone.yaml", small_scenario("axes: {tokens: [5]}\nexpect: [{status: fail, cause: stale_read}]\n"));
  EXPECT_EQ(moediff("run " + path).status, 1);
}

TEST(Run, NothingCheckedExitsWith3) {
  const Result result = moediff("run scenarios/smoke --filter no-such-case");
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("nothing was checked"), std::string::npos) << result.err;
}

TEST(Run, ABackendThatIsNotHereExitsWith125) {
  const Result result = moediff("run scenarios/smoke --backend rocm");
  EXPECT_EQ(result.status, 125) << result.out << result.err;
  EXPECT_NE(result.err.find("cannot run here"), std::string::npos);
}

TEST(Run, TheReproLineOfAFailureReproducesIt) {
  const Folder folder;
  const std::string json = folder.path() + "/a.json", again = folder.path() + "/b.json";
  ASSERT_EQ(moediff("run " + folder.write("bug.yaml", small_scenario(kFounding)) + " --json " + json).status, 1);
  auto record = read_json(json)["records"][0];
  const std::string repro = record["repro"];
  const std::string program = MOEDIFF_BUILD_DIR "/moediff ";
  ASSERT_EQ(repro.rfind(program, 0), 0u) << "the line must find the program as it was called";
  EXPECT_EQ(moediff(repro.substr(program.size()) + " --json " + again).status, 1);
  auto repeated = read_json(again)["records"][0];
  record.erase("seconds");
  repeated.erase("seconds");
  EXPECT_EQ(record, repeated);
}

TEST(Run, TheReproLineIsQuotedForAShell) {
  const Folder folder;
  const std::string path = folder.write("o'd name.yaml", small_scenario(kFounding)), json = folder.path() + "/a.json";
  ASSERT_EQ(moediff("run \"" + path + "\" --timeout 30 --json " + json).status, 1);
  const std::string repro = read_json(json)["records"][0]["repro"];
  EXPECT_NE(repro.find("--timeout 30"), std::string::npos) << repro;
  const int status = std::system((repro + " >/dev/null 2>&1").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1) << repro;
}

TEST(Run, AReportNamedAsALinkIsWrittenThroughIt) {
  const Folder folder;
  const std::string target = folder.write("target", "old"), link = folder.path() + "/link";
  std::filesystem::create_symlink(target, link);
  ASSERT_EQ(moediff("run " + folder.write("s.yaml", small_scenario("tokens: 2\n")) + " --json " + link).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_json(target)["schema_version"], 1);
}

TEST(Run, ResultsThatCannotBePrintedAreAnError) {
  const Folder folder;
  const std::string path = folder.write("s.yaml", small_scenario("tokens: 2\n"));
  const int status = std::system((MOEDIFF_BUILD_DIR "/moediff list " + path + " >/dev/full 2>/dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

TEST(Run, NothingColouredGoesIntoAPipe) {
  const Result result = moediff("run scenarios/smoke");
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
}

TEST(Run, FailFastStopsAtTheFirstUnexpectedCase) {
  const Folder folder;
  const std::string path = folder.write(
      "bugs.yaml", small_scenario("axes: {order: [routed_first], in_place: [true], tokens: [1, 2, 3, 4, 5]}\n"));
  const std::string json = folder.path() + "/r.json";
  EXPECT_EQ(moediff("run " + path + " --fail-fast --jobs 1 --json " + json).status, 1);
  EXPECT_EQ(read_json(json)["summary"]["cases"], 1);
}

TEST(Run, InProcessGivesTheSameRecordAsTheWorker) {
  const Folder folder;
  const std::string path = folder.write("bug.yaml", small_scenario(kFounding));
  moediff("run " + path + " --json " + folder.path() + "/worker.json");
  moediff("run " + path + " --in-process --json " + folder.path() + "/inside.json");
  auto worker = read_json(folder.path() + "/worker.json")["records"],
       inside = read_json(folder.path() + "/inside.json")["records"];
  for (auto& record : worker) record.erase("seconds");
  for (auto& record : inside) record.erase("seconds");
  EXPECT_EQ(worker, inside);
}

}  // namespace
}  // namespace moediff::cli
