// The report's header, its files, and the exit status.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/cli/verbs.h"
#include "harness/cli/version.h"
#include "harness/cli/worker_verb.h"
#include "harness/cli/write_file.h"
#include "harness/core/error.h"
#include "reports/console.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/junit.h"

namespace moediff {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

Environment environment(const Command& command) {
  Environment env;
  utsname system{};
  if (uname(&system) == 0) env.host = fmt::format("{} {}", system.sysname, system.machine);
  env.cpu = cpu_name();
  env.backend = command.backend;
  for (const BackendInfo& info : list_backends("")) {
    if (info.name != command.backend) continue;
    env.runtime = info.runtime;
    if (command.backend != "host") env.device = info.device;
  }
  env.provider = "builtin";
  env.flags = kBuildFlags;
  env.threads = run_settings(command).jobs;
  return env;
}

std::vector<std::string> report_targets(const Command& command) {
  std::vector<std::string> targets;
  for (const std::string& path : {command.json, command.junit}) {
    if (!path.empty()) targets.push_back(path);
  }
  if (command.out.empty()) return targets;
  for (const char* name : {"report.json", "report.xml", "report.html"}) targets.push_back(command.out + "/" + name);
  return targets;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

void check_report_targets(const Command& command) {
  for (const std::string& path : report_targets(command)) check_target(path);
}

Report begin_report(const Command& command) {
  Report report;
  report.version = kVersion;
  report.commit = kCommit;
  report.build = kBuild;
  report.environment = environment(command);
  report.command = command.words;
  return report;
}

void write_reports(const Command& command, const Report& report) {
  const bool colour = use_colour(stdout);
  print(render_failures(report, colour));
  print(render_summary(report, colour));
  if (!command.json.empty()) write_file(command.json, render_json(report));
  if (!command.junit.empty()) write_file(command.junit, render_junit(report));
  if (command.out.empty()) return;
  write_file(command.out + "/report.json", render_json(report));
  write_file(command.out + "/report.xml", render_junit(report));
  write_file(command.out + "/report.html", render_html(report));
  print("report: " + std::filesystem::absolute(command.out + "/report.html").lexically_normal().string() + "\n");
}

int exit_status(const Report& report) {
  if (report.summary.unexpected > 0) return 1;
  const bool checked = report.summary.pass + report.summary.fail > 0;
  if (!checked) std::fputs("moediff: nothing was checked: no case matches, or all are skipped\n", stderr);
  return checked ? 0 : 3;
}

}  // namespace moediff
