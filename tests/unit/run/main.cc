// The test program is its own worker: `unit_run worker --fd N --backend B [--modules DIR]`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "harness/run/executor.h"

namespace {

int run_worker(int argc, char** argv) {
  moediff::ExecutorOptions options;
  int fd = -1;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--fd") fd = std::atoi(argv[i + 1]);
    if (name == "--backend") options.backend = argv[i + 1];
    if (name == "--modules") options.module_dir = argv[i + 1];
  }
  return moediff::worker_main(fd, options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "worker") return run_worker(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
