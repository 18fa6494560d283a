// The test program is its own worker: `unit_run worker --fd N --backend B [--modules DIR]`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "harness/run/executor.h"
#include "harness/run/message.h"
#include "harness/run/serialise.h"

namespace {

/// A worker that answers a request with a well-formed Run of nothing.
int lie(int fd) {
  moediff::Message message;
  moediff::BackendInfo info;
  info.name = "liar";
  moediff::receive_message(fd, message, std::nullopt);
  moediff::send_message(fd, moediff::MessageKind::welcome, 0, to_bytes(info));
  while (moediff::receive_message(fd, message, std::nullopt) == moediff::Received::message) {
    if (message.kind != moediff::MessageKind::request) continue;
    moediff::send_message(fd, moediff::MessageKind::run, message.number, to_bytes(moediff::Run{}));
  }
  return 0;
}

int run_worker(int argc, char** argv) {
  moediff::ExecutorOptions options;
  int fd = -1;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--fd") fd = std::atoi(argv[i + 1]);
    if (name == "--backend") options.backend = argv[i + 1];
    if (name == "--modules") options.module_dir = argv[i + 1];
  }
  return options.backend == "liar" ? lie(fd) : moediff::worker_main(fd, options);
}

}  // namespace

/// Under AddressSanitizer a crash still has to end the worker as a crash. Read by the sanitizer's runtime, if there is
/// one.
extern "C" const char* __asan_default_options() { return "handle_segv=0:handle_abort=0"; }

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "worker") return run_worker(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
