#include "harness/run/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "harness/core/error.h"
#include "harness/run/serialise.h"

namespace moediff {
namespace {

constexpr int kWorkerSocket = 3;
/// Loading a GPU runtime can take tens of seconds; this only has to be finite.
constexpr double kGreetingSeconds = 120;

[[noreturn]] void cannot(const std::string& what, int error) {
  throw CannotRun(fmt::format("cannot start a worker: {}: {}", what, std::strerror(error)));
}

/// posix_spawn's two C structs, with an owner. The worker gets its socket as descriptor 3 and no other of ours; what a
/// candidate prints goes to stderr, since stdout may be a report.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
    posix_spawn_file_actions_addclosefrom_np(&actions, kWorkerSocket + 1);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

std::string to_string(const Ending& ending) {
  if (ending.signal == 0) return fmt::format("exit code {}", ending.exit_code);
  const char* name = sigabbrev_np(ending.signal);
  return fmt::format("signal {} (SIG{})", ending.signal, name == nullptr ? "?" : name);
}

WorkerProcess::WorkerProcess(const ExecutorOptions& options) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) cannot("socketpair", errno);
  socket_ = Descriptor(ends[0]);
  Descriptor worker_end(ends[1]);
  share_page();
  try {
    spawn(options, worker_end.get());
    worker_end.close();  // or the worker's end would be seen to close only after ours
    greet(options);
  } catch (...) {
    kill();
    munmap(page_, sizeof(StatusPage));
    throw;
  }
}

WorkerProcess::~WorkerProcess() {
  socket_.close();
  end();
  munmap(page_, sizeof(StatusPage));
}

void WorkerProcess::share_page() {
  page_file_ = Descriptor(memfd_create("moediff-status", MFD_CLOEXEC));
  if (page_file_.get() < 0 || ftruncate(page_file_.get(), sizeof(StatusPage)) != 0) cannot("shared memory", errno);
  void* address = mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, page_file_.get(), 0);
  if (address == MAP_FAILED) cannot("mapping shared memory", errno);
  page_ = new (address) StatusPage;
}

void WorkerProcess::spawn(const ExecutorOptions& options, int socket) {
  std::vector<std::string> words{options.worker_command,        "worker",    "--fd",
                                 std::to_string(kWorkerSocket), "--backend", options.backend};
  if (!options.module_dir.empty()) {
    words.push_back("--modules");
    words.push_back(options.module_dir);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const SpawnSettings settings(socket);
  const int code = posix_spawn(&pid_, options.worker_command.c_str(), &settings.actions, &settings.attributes,
                               arguments.data(), environ);
  if (code != 0) {
    pid_ = -1;
    cannot(fmt::format("'{}'", options.worker_command), code);
  }
}

void WorkerProcess::greet(const ExecutorOptions& options) {
  Message answer;
  const bool sent = send_message(socket_.get(), MessageKind::hello, 0, page_file_, sizeof(StatusPage));
  const Received received =
      sent ? receive_message(socket_.get(), answer, deadline_in(kGreetingSeconds)) : Received::closed;
  if (received == Received::timeout) {
    throw CannotRun(fmt::format("backend '{}' did not load within {} s", options.backend, kGreetingSeconds));
  }
  if (received != Received::message || answer.kind != MessageKind::welcome) {
    throw CannotRun(
        fmt::format("backend '{}': the worker ended with {} while loading it", options.backend, to_string(end())));
  }
  const MappedFile file(answer.file, answer.bytes);
  const auto info = file.bytes() ? from_bytes<BackendInfo>(*file.bytes()) : std::nullopt;
  if (!info) throw CannotRun(fmt::format("backend '{}': the worker answered garbage", options.backend));
  if (!info->problem.empty()) throw CannotRun(info->problem);
  info_ = *info;
}

bool WorkerProcess::reap(bool wait) {
  if (pid_ < 0 || reaped_) return true;
  int status = 0;
  pid_t result = 0;
  do {
    result = waitpid(pid_, &status, wait ? 0 : WNOHANG);
  } while (result < 0 && errno == EINTR);
  if (result == 0) return false;
  reaped_ = true;
  if (result > 0 && WIFSIGNALED(status)) ending_ = {WTERMSIG(status), 0};
  if (result > 0 && WIFEXITED(status)) ending_ = {0, WEXITSTATUS(status)};
  return true;
}

bool WorkerProcess::is_alive() { return !reap(false); }

Ending WorkerProcess::end() {
  // A crashing process closes its socket a moment before it can be reaped; an idle one exits when the socket closes.
  const Deadline deadline = deadline_in(0.5);
  while (!reap(false)) {
    if (std::chrono::steady_clock::now() > deadline) return kill();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return ending_;
}

Ending WorkerProcess::kill() {
  if (pid_ >= 0 && !reap(false)) {
    ::kill(pid_, SIGKILL);
    reap(true);
  }
  return ending_;
}

}  // namespace moediff
