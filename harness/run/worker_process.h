// One worker process, seen from its parent: spawned, talked to, ended, and reaped.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "harness/run/executor.h"
#include "harness/run/message.h"
#include "harness/run/status_page.h"

namespace moediff {

/// How a process ended.
struct Ending {
  int signal = 0;  ///< 0: it exited by itself
  int exit_code = 0;
};
/// "signal 11 (SIGSEGV)", "exit code 3".
std::string to_string(const Ending& ending);

class WorkerProcess {
 public:
  /// Spawns a worker, waits until it has loaded the backend. Throws CannotRun with its reason when it cannot.
  explicit WorkerProcess(const ExecutorOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int socket() const { return socket_.get(); }
  const StatusPage& page() const { return *page_; }
  const BackendInfo& info() const { return info_; }
  /// False when the process has ended (it is reaped then).
  bool is_alive();
  /// Waits a moment for a process that is ending by itself, kills it otherwise; reaps it.
  Ending end();
  /// Kills and reaps it at once.
  Ending kill();

 private:
  void share_page();
  void spawn(const ExecutorOptions& options, int socket);
  void greet(const ExecutorOptions& options);
  bool reap(bool wait);

  pid_t pid_ = -1;
  bool reaped_ = false;
  Ending ending_;
  Descriptor socket_, page_file_;
  StatusPage* page_ = nullptr;
  BackendInfo info_;
};

}  // namespace moediff
