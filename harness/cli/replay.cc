// Replaying files of expected values: each for itself, results to stdout, what is wrong with a file to stderr.
#include <algorithm>
#include <array>
#include <cstdio>

#include "harness/cli/verbs.h"
#include "harness/cli/worker_verb.h"
#include "harness/cli/write_file.h"
#include "harness/replay/kinds.h"
#include "reports/console.h"
#include "reports/replay_json.h"
#include "reports/replay_text.h"
#include "reports/safe_text.h"

namespace moediff {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void show(const FileReplay& file, const Command& command) {
  print(render_replay(file, command.verbose, use_colour(stdout)));
  std::fflush(stdout);
  for (const Error& error : file.errors) std::fprintf(stderr, "%s\n", safe_text(to_string(error)).c_str());
}

/// A disagreement counts before a file that could not be replayed, and that before one in which nothing was compared.
struct StatusRow {
  ReplayVerdict verdict;
  int status;
};
constexpr std::array<StatusRow, 3> kStatuses{
    {{ReplayVerdict::fail, 1}, {ReplayVerdict::malformed, 2}, {ReplayVerdict::inconclusive, 3}}};

int status_of(const std::vector<FileReplay>& files) {
  for (const StatusRow& row : kStatuses) {
    const bool any =
        std::any_of(files.begin(), files.end(), [&](const FileReplay& file) { return file.verdict == row.verdict; });
    if (any) return row.status;
  }
  return 0;
}

}  // namespace

int replay(const Command& command) {
  check_report_targets(command);
  const std::unique_ptr<Executor> executor =
      command.reference_only ? nullptr : make_executor(run_settings(command).executor);
  CandidateOptions candidate{executor.get(), {command.provider, ""}};
  candidate.timeout_seconds = command.timeout.value_or(candidate.timeout_seconds);
  std::vector<FileReplay> files;
  for (const std::string& path : command.paths) {
    files.push_back(replay_file(path, candidate));
    show(files.back(), command);
  }
  if (files.size() > 1) print(render_replay_summary(files));
  if (!command.json.empty()) write_file(command.json, render_replay_json(files));
  return status_of(files);
}

}  // namespace moediff
