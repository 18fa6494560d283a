// Executes Programs on a backend: in a worker process (the rule), or in this process (for gdb).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/run/run.h"

namespace moediff {

struct ExecutorOptions {
  std::string backend = "host";
  std::string module_dir;  ///< folder of the backend and provider modules: "" = beside the executable
  bool in_process = false;
  std::string worker_command = "/proc/self/exe";  ///< what a worker re-executes; called as `COMMAND worker --fd N …`
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Never throws for anything the candidate does: crash, hang, illegal access and provider errors are Run::status.
  /// Throws CannotRun when there is no such provider module, or when no worker can be started.
  virtual Run run(const RunRequest& request) = 0;
};

/// Throws CannotRun when the backend's module is missing, cannot be loaded or finds no device. The worker is started at
/// once, so make the executor before the first OpenMP region; it is started again at the first run after a crash or
/// hang.
std::unique_ptr<Executor> make_executor(const ExecutorOptions& options);

/// The worker's main loop: what `moediff worker --fd N --backend B [--modules DIR]` runs until the socket closes.
/// `fd`: one end of a socket pair. Returns the exit status.
int worker_main(int fd, const ExecutorOptions& options);

/// For `doctor`: what a backend module says of itself, or why it cannot be used.
struct BackendInfo {
  std::string name, runtime, device;
  int devices = 0;
  std::string problem;  ///< "" = usable
};
/// Asks a worker each, so that a broken GPU runtime cannot end the caller.
std::vector<BackendInfo> list_backends(const std::string& module_dir,
                                       const std::string& worker_command = "/proc/self/exe");

}  // namespace moediff
