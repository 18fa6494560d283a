#include "harness/cli/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "harness/cli/version.h"
#include "harness/core/text.h"

namespace moediff {
namespace {

void add_paths(CLI::App& app, Command& command) {
  app.add_option("PATH", command.paths, "scenario files, or folders of them")->required();
  app.add_option("--filter", command.filter, "only cases whose id matches this glob; * also crosses '/'");
  app.add_option("--seed", command.seed, "replaces the scenarios' seeds");
}

void add_executor_options(CLI::App& app, Command& command) {
  app.add_option("--backend", command.backend, "host (HIP on the CPU), rocm, cuda")->capture_default_str();
  app.add_option("--timeout", command.timeout,
                 "seconds a run may take before it is a hang; replaces the scenarios' value")
      ->check(CLI::PositiveNumber);
  app.add_flag("--in-process", command.in_process,
               "run kernels in this process, for a debugger: no crash or hang protection");
}

void add_run_options(CLI::App& app, Command& command) {
  add_executor_options(app, command);
  app.add_option("--out", command.out, "folder for report.html, report.json, report.xml; made when missing");
  app.add_option("--json", command.json, "file for the JSON report");
  app.add_option("--junit", command.junit, "file for the JUnit report");
  app.add_option("--progress", command.progress, "on stderr: auto, plain or none")
      ->check(CLI::IsMember({"auto", "plain", "none"}))
      ->capture_default_str();
  app.add_flag("--fail-fast", command.fail_fast, "stop at the first case that is not as expected");
  app.add_option("--jobs", command.jobs, "groups of cases worked on at once (0: one a core)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

void add_options(Verb verb, CLI::App& app, Command& command) {
  switch (verb) {
    case Verb::run:
      add_paths(app, command);
      add_run_options(app, command);
      break;
    case Verb::list:
      add_paths(app, command);
      app.add_flag("--canonical", command.canonical,
                   "each case as complete YAML, every default and effective_stream filled in");
      break;
    case Verb::check:
      add_paths(app, command);
      break;
    case Verb::replay:
      app.add_option("FILE", command.paths, "files with inputs, weights and expected values")->required();
      app.add_flag("-v,--verbose", command.verbose, "every check of every file, not only those that fail");
      app.add_flag("--reference-only", command.reference_only, "compare the reference alone, run no candidate");
      app.add_option("--provider", command.provider, "whose kernels run as the candidate")->capture_default_str();
      app.add_option("--json", command.json, "file for the checks as JSON");
      add_executor_options(app, command);
      break;
    case Verb::conformance:
      app.add_option("WHAT", command.topic, "formats")->required()->check(CLI::IsMember({"formats"}));
      app.add_flag("--all-floats", command.all_floats,
                   "encode all 2^32 floats to every format (minutes); without it, the neighbours of every boundary and "
                   "a sample");
      app.add_option("--filter", command.filter, "only conversions whose name matches this glob, like '*e5m2*'");
      app.add_option("--provider", command.provider, "whose conversions")->capture_default_str();
      app.add_option("--json", command.json, "file for the results as JSON");
      add_executor_options(app, command);
      break;
    case Verb::sensitivity:
      app.add_option("--filter", command.filter, "only defects whose name matches this glob, like '*scale*'");
      app.add_option("--markdown", command.out, "file for the table");
      app.add_option("--json", command.json, "file for the results as JSON");
      add_executor_options(app, command);
      break;
    case Verb::explain:
      app.add_option("TOPIC", command.topic,
                     "a cause, stage, relation, fault, scenario key, word of a report, or case id")
          ->required();
      app.add_option("--report", command.report, "JSON report in which a case id is looked up")
          ->default_str("out/report.json");
      break;
    case Verb::faults:
    case Verb::doctor:
      break;
  }
}

// CLI11 says "The following argument was not expected: chek"; a misspelt verb deserves a suggestion.
std::string suggestion(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  std::vector<std::string> names;
  for (const VerbRow& row : kVerbs) {
    if (row.name == argv[1]) return "";
    names.emplace_back(row.name);
  }
  const std::string near = nearest(argv[1], names);
  return near.empty() ? "" : "did you mean 'moediff " + near + "'?\n";
}

}  // namespace

Command parse_command_line(int argc, char** argv) {
  Command command;
  command.program = argv[0];
  command.words.assign(argv + 1, argv + argc);
  CLI::App app{"moediff: finds corruption in MoE inference pipelines, and proves the cause", "moediff"};
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 all as expected, 1 something not, 2 usage or scenario error, 3 nothing was really checked,\n"
      "125 what was asked cannot run on this machine. 'moediff VERB --help' shows a verb's options.");
  for (const VerbRow& row : kVerbs) {
    CLI::App* sub = app.add_subcommand(std::string(row.name), std::string(row.summary));
    sub->footer("Example:\n  " + std::string(row.example));
    add_options(row.verb, *sub, command);
    sub->callback([&command, verb = row.verb] { command.verb = verb; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    if (status == 0) std::exit(0);
    std::fputs(suggestion(argc, argv).c_str(), stderr);
    std::exit(2);
  }
  if (command.report.empty()) command.report = "out/report.json";
  return command;
}

}  // namespace moediff
