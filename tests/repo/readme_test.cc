// The commands that the pages show are commands that work.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/repo/files.h"

namespace moediff::repo {
namespace {

const std::string kProgram = MOEDIFF_BUILD_DIR "/moediff";

// Lines of ```sh blocks, without comments and prompts.
std::vector<std::string> shown_commands(const std::string& page) {
  std::vector<std::string> commands;
  bool inside = false;
  for (const std::string& line : lines(read(page))) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```sh";
      continue;
    }
    if (!inside || line.empty() || line[0] == '#') continue;
    commands.push_back(line.substr(0, line.find("  #")));
  }
  return commands;
}

TEST(Readme, ShowsTheTwoCommandsFirst) {
  const std::vector<std::string> commands = shown_commands("README.md");
  ASSERT_GE(commands.size(), 2u);
  EXPECT_EQ(commands[0], "./run");
  EXPECT_EQ(commands[1], "./test");
}

TEST(Readme, ItsMoediffCommandsAreAcceptedAsWritten) {
  int checked = 0;
  for (const char* page : {"README.md", "CONTRIBUTING.md", "scenarios/README.md", "reports/README.md"}) {
    for (const std::string& command : shown_commands(page)) {
      if (command.rfind("build/moediff ", 0) != 0) continue;
      // `run` and `sensitivity` are shown on whole suites; what is checked here is that they are understood: a filter
      // that nothing matches ends with 3.
      const bool runs = command.rfind("build/moediff run ", 0) == 0 || command.rfind("build/moediff sensitivity", 0) == 0;
      std::string arguments = command.substr(command.find(' '));
      if (const auto out = arguments.find(" --out "); out != std::string::npos) arguments.resize(out);
      const CommandResult result = shell(kProgram + arguments + (runs ? " --filter no-such-case" : ""));
      EXPECT_EQ(result.status, runs ? 3 : 0) << command << "\n" << result.output;
      ++checked;
    }
  }
  EXPECT_GE(checked, 3);
}

TEST(Readme, ItsScriptsExistAndAreExecutable) {
  for (const char* script : {"run", "test", ".ci/run"}) {
    const auto permissions = std::filesystem::status(script).permissions();
    EXPECT_NE(permissions & std::filesystem::perms::owner_exec, std::filesystem::perms::none) << script;
  }
}

}  // namespace
}  // namespace moediff::repo
