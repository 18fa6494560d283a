// The two executors: a worker process that is started again whenever it was lost, and this process.
#include "harness/run/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <utility>

#include "harness/core/error.h"
#include "harness/run/capture.h"
#include "harness/run/ending.h"
#include "harness/run/execute.h"
#include "harness/run/failure.h"
#include "harness/run/serialise.h"
#include "harness/run/worker_process.h"

namespace moediff {
namespace {

void require_provider(const ExecutorOptions& options, const ProviderSpec& provider) {
  const std::string path = provider_path(options.module_dir, options.backend, provider.name);
  if (!std::filesystem::exists(path)) {
    throw CannotRun(
        fmt::format("no provider '{}' for backend '{}': '{}' does not exist", provider.name, options.backend, path));
  }
}

std::shared_ptr<const Inputs> inputs_of(const RunRequest& request) {
  return request.inputs != nullptr ? request.inputs : std::make_shared<const Inputs>();
}

void complete(const RunRequest& request, Run& run) {
  if (run.status == RunStatus::ok) fill_weights(*request.program, *inputs_of(request), run.capture);
}

class InProcessExecutor : public Executor {
 public:
  explicit InProcessExecutor(const ExecutorOptions& options)
      : options_(options), modules_(options.backend, options.module_dir) {}

  Run run(const RunRequest& request) override {
    require_provider(options_, request.provider);
    page_.start(page_.request + 1);
    Run run = execute(request, *inputs_of(request), {}, modules_, page_);
    complete(request, run);
    return run;
  }

 private:
  ExecutorOptions options_;
  Modules modules_;
  StatusPage page_;
};

class WorkerExecutor : public Executor {
 public:
  explicit WorkerExecutor(const ExecutorOptions& options)
      : options_(options), worker_(std::make_unique<WorkerProcess>(options)) {}

  Run run(const RunRequest& request) override {
    require_provider(options_, request.provider);
    std::vector<ProbeCrash> crashes;
    bool killed_before = false;
    for (;;) {
      std::optional<ProbeCrash> crash;
      killed_ = false;
      Run run = attempt(request, crashes, crash);
      // Somebody's kill, the out-of-memory killer's most likely, says nothing of the candidate: once more.
      if (killed_ && !std::exchange(killed_before, true)) continue;
      // Each turn rules one more probe out, so this ends.
      const bool is_new = crash && std::none_of(crashes.begin(), crashes.end(), [&](const ProbeCrash& known) {
                            return known.step == crash->step && known.target == crash->target;
                          });
      if (!is_new) return run;
      crashes.push_back(*crash);
    }
  }

 private:
  Run attempt(const RunRequest& request, const std::vector<ProbeCrash>& crashes, std::optional<ProbeCrash>& crash);
  void ensure_worker();
  bool send(const RunRequest& request, const std::vector<ProbeCrash>& crashes);
  Run take_answer(const RunRequest& request, const Message& message);
  Run lose_worker(const RunRequest& request, Received received, std::optional<ProbeCrash>& crash);

  ExecutorOptions options_;
  std::unique_ptr<WorkerProcess> worker_;
  std::shared_ptr<const Inputs> sent_;  ///< what the worker holds; kept alive, so that its address names it
  std::uint64_t inputs_number_ = 0, request_number_ = 0;
  bool killed_ = false;  ///< the last attempt was ended from outside
};

/// A worker that ended between two runs is not this run's doing: it is replaced without a word.
void WorkerExecutor::ensure_worker() {
  if (worker_ != nullptr && worker_->is_alive()) return;
  worker_.reset();
  sent_.reset();
  worker_ = std::make_unique<WorkerProcess>(options_);
}

bool WorkerExecutor::send(const RunRequest& request, const std::vector<ProbeCrash>& crashes) {
  const std::shared_ptr<const Inputs> inputs = inputs_of(request);
  if (sent_ != inputs) {
    ++inputs_number_;
    if (!send_message(worker_->socket(), MessageKind::inputs, inputs_number_, to_bytes(*inputs))) return false;
    sent_ = inputs;
  }
  ++request_number_;
  const WireRequest wire{*request.program, inputs_number_,  request.provider,
                         request.schedule, request.observe, crashes};
  return send_message(worker_->socket(), MessageKind::request, request_number_, to_bytes(wire));
}

Run WorkerExecutor::attempt(const RunRequest& request, const std::vector<ProbeCrash>& crashes,
                            std::optional<ProbeCrash>& crash) {
  Message message;
  Received received = Received::closed;
  // A worker that died on the way to this request, without having begun it, gets one successor.
  for (int turn = 0; turn < 2; ++turn) {
    ensure_worker();
    const Deadline deadline = deadline_in(request.timeout_seconds);
    received = send(request, crashes) ? receive_message(worker_->socket(), message, deadline) : Received::closed;
    if (received != Received::closed || worker_->page().request == request_number_) break;
    worker_->end();
  }
  return received == Received::message ? take_answer(request, message) : lose_worker(request, received, crash);
}

Run WorkerExecutor::take_answer(const RunRequest& request, const Message& message) {
  const MappedFile file(message.file, message.bytes);
  const bool expected = message.kind == MessageKind::run && message.number == request_number_;
  auto run = expected && file.bytes() ? from_bytes<Run>(*file.bytes()) : std::nullopt;
  if (!run || !fits(*run, *request.program)) {
    std::optional<ProbeCrash> none;
    return lose_worker(request, Received::garbage, none);
  }
  complete(request, *run);
  return std::move(*run);
}

Run WorkerExecutor::lose_worker(const RunRequest& request, Received received, std::optional<ProbeCrash>& crash) {
  const Program& program = *request.program;
  const StatusPage& page = worker_->page();
  Run run;
  if (received == Received::timeout) {
    worker_->kill();
    run = run_after_timeout(program, page, request.timeout_seconds);
  } else if (received == Received::garbage) {
    worker_->kill();
    run = failed_run(RunStatus::crash, "the worker's answer makes no sense: its memory was overwritten", page.step());
  } else {
    const Ending ending = worker_->end();
    run = run_after_death(program, page, to_string(ending));
    killed_ = ending.signal == SIGKILL || ending.signal == SIGTERM;
    if (killed_) run.status = RunStatus::error;  // no fault of the candidate's has these signals
  }
  if (!killed_) crash = interrupted_probe(program, page, run.detail);
  worker_.reset();
  sent_.reset();
  return run;
}

}  // namespace

std::unique_ptr<Executor> make_executor(const ExecutorOptions& options) {
  if (options.in_process) return std::make_unique<InProcessExecutor>(options);
  const std::string path = backend_path(options.module_dir, options.backend);
  if (!std::filesystem::exists(path)) {
    throw CannotRun(fmt::format("no backend '{}': '{}' does not exist", options.backend, path));
  }
  return std::make_unique<WorkerExecutor>(options);
}

std::vector<BackendInfo> list_backends(const std::string& module_dir, const std::string& worker_command) {
  constexpr std::array<const char*, 3> kBackends{"host", "rocm", "cuda"};
  std::vector<BackendInfo> list;
  for (const char* name : kBackends) {
    BackendInfo info;
    info.name = name;
    ExecutorOptions options;
    options.backend = name;
    options.module_dir = module_dir;
    options.worker_command = worker_command;
    try {
      if (!std::filesystem::exists(backend_path(module_dir, name))) throw CannotRun("not built");
      info = WorkerProcess(options).info();
    } catch (const CannotRun& error) {
      info.problem = error.what();
    }
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace moediff
