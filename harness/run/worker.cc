// The worker: answers requests over its socket until the other end closes. One request at a time, on the main thread.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "harness/core/error.h"
#include "harness/run/execute.h"
#include "harness/run/executor.h"
#include "harness/run/failure.h"
#include "harness/run/message.h"
#include "harness/run/serialise.h"

namespace moediff {
namespace {

/// The inputs of the group at work; those before it are forgotten.
struct HeldInputs {
  std::uint64_t number = 0;
  Inputs inputs;
};

/// Dies with the parent, also when that is killed; leaves no core file for an expected crash.
void become_worker(int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// The parent may have died before PR_SET_PDEATHSIG took effect: then its end of the socket is closed.
bool is_orphan(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & POLLHUP) != 0;
}

StatusPage* map_page(const Message& hello) {
  void* address = mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, hello.file.get(), 0);
  return address == MAP_FAILED ? nullptr : static_cast<StatusPage*>(address);
}

std::unique_ptr<Modules> load_backend(const ExecutorOptions& options, BackendInfo& info) {
  try {
    auto modules = std::make_unique<Modules>(options.backend, options.module_dir);
    info = modules->info();
    return modules;
  } catch (const std::exception& error) {
    info.name = options.backend;
    info.problem = error.what();
    return nullptr;
  }
}

Run answer(const Message& message, const HeldInputs& held, Modules& modules, StatusPage& page) {
  const MappedFile file(message.file, message.bytes);
  const auto wire = file.bytes() ? from_bytes<WireRequest>(*file.bytes()) : std::nullopt;
  if (!wire || wire->inputs != held.number)
    return failed_run(RunStatus::error, "the worker got a malformed request", -1);
  RunRequest request;
  request.program = &wire->program;
  request.provider = wire->provider;
  request.schedule = wire->schedule;
  request.observe = wire->observe;
  return execute(request, held.inputs, wire->crashes, modules, page);
}

bool take_inputs(const Message& message, HeldInputs& held) {
  const MappedFile file(message.file, message.bytes);
  auto inputs = file.bytes() ? from_bytes<Inputs>(*file.bytes()) : std::nullopt;
  if (!inputs) return false;
  held = {message.number, std::move(*inputs)};
  return true;
}

int serve(int fd, Modules& modules, StatusPage& page) {
  HeldInputs held;
  for (;;) {
    Message message;
    const Received received = receive_message(fd, message, std::nullopt);
    if (received == Received::closed) return 0;
    if (received != Received::message) return 1;
    if (message.kind == MessageKind::inputs) {
      if (!take_inputs(message, held)) return 1;
      continue;
    }
    if (message.kind != MessageKind::request) return 1;
    page.start(message.number);
    const Run run = answer(message, held, modules, page);
    page.phase = WorkerPhase::idle;
    if (!send_message(fd, MessageKind::run, message.number, to_bytes(run))) return 0;
  }
}

}  // namespace

int worker_main(int fd, const ExecutorOptions& options) {
  become_worker(fd);
  if (is_orphan(fd)) return 0;
  Message hello;
  if (receive_message(fd, hello, std::nullopt) != Received::message || hello.kind != MessageKind::hello) return 1;
  StatusPage* page = map_page(hello);
  if (page == nullptr) return 1;
  BackendInfo info;
  const std::unique_ptr<Modules> modules = load_backend(options, info);
  if (!send_message(fd, MessageKind::welcome, 0, to_bytes(info)) || modules == nullptr) return 0;
  return serve(fd, *modules, *page);
}

}  // namespace moediff
