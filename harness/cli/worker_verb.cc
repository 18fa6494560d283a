#include "harness/cli/worker_verb.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "harness/core/text.h"
#include "harness/program/fault_table.h"

namespace moediff {

bool is_worker(int argc, char** argv) { return argc > 1 && std::strcmp(argv[1], "worker") == 0; }

int run_worker(int argc, char** argv) {
  int fd = -1;
  ExecutorOptions options;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--fd") fd = std::atoi(argv[i + 1]);
    if (key == "--backend") options.backend = argv[i + 1];
    if (key == "--modules") options.module_dir = argv[i + 1];
  }
  return worker_main(fd, options);
}

RunSettings run_settings(const Command& command) {
  RunSettings settings;
  settings.repro.program = command.program;
  if (command.timeout) settings.repro.options += " --timeout " + short_number(*command.timeout, 9);
  if (command.backend != "host") settings.repro.options += " --backend " + command.backend;
  settings.executor.backend = command.backend;
  settings.executor.in_process = command.in_process;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  settings.jobs = command.in_process ? 1 : command.jobs > 0 ? command.jobs : cores;
  settings.fail_fast = command.fail_fast;
  settings.timeout = command.timeout;
  return settings;
}

std::vector<std::string> known_fault_names() {
  std::vector<std::string> names;
  for (const FaultRow& row : faults()) names.emplace_back(row.name);
  return names;
}

}  // namespace moediff
