// Executes Programs on a backend: in a worker process (the rule), or in this process (for gdb).
#pragma once

#include <memory>
#include <string>

#include "harness/run/run.h"

namespace moediff {

struct ExecutorOptions {
  std::string backend = "host";
  std::string module_dir;      ///< folder of the backend and provider modules: "" = beside the executable
  bool in_process = false;
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Never throws for anything the candidate does: crash, hang, illegal access and provider errors are Run::status.
  virtual Run run(const RunRequest& request) = 0;
};

/// Throws CannotRun when the backend's module is missing or finds no device. A worker is started at the first run and
/// again after a crash or hang.
std::unique_ptr<Executor> make_executor(const ExecutorOptions& options);

/// The worker's main loop: what `moediff worker` runs. `fd`: one end of a socket pair.
int worker_main(int fd, const ExecutorOptions& options);

/// For `doctor`: what a backend module says of itself, or why it cannot be used.
struct BackendInfo {
  std::string name, runtime, device;
  int devices = 0;
  std::string problem;  ///< "" = usable
};
std::vector<BackendInfo> list_backends(const std::string& module_dir);

}  // namespace moediff
