// `moediff doctor`: what this machine can run, and what is missing for the rest.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "harness/cli/verbs.h"
#include "harness/cli/version.h"
#include "harness/run/executor.h"

namespace moediff {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string backend_line(const BackendInfo& info) {
  if (!info.problem.empty()) return fmt::format("backend {}: not usable: {}\n", info.name, info.problem);
  return fmt::format("backend {}: {}, {} device{}{}\n", info.name, info.runtime, info.devices,
                     info.devices == 1 ? "" : "s", info.device.empty() ? "" : ": " + info.device);
}

std::string limit(int resource) {
  rlimit value{};
  if (getrlimit(resource, &value) != 0) return "unknown";
  return value.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(value.rlim_cur);
}

// Every watched buffer is a few mappings of its own.
std::string mapping_limit() {
  std::string count = "unknown";
  std::ifstream("/proc/sys/vm/max_map_count") >> count;
  return count;
}

}  // namespace

int doctor(const Command&) {
  print(fmt::format("moediff {} ({}), {}, {}\n", kVersion, kCommit, kBuild, kBuildFlags));
  bool usable = false;
  for (const BackendInfo& info : list_backends("")) {
    print(backend_line(info));
    usable = usable || info.problem.empty();
  }
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  print(fmt::format(
      "machine: {} cores, {:.1f} GiB memory, pages of {} bytes, at most {} open files and {} memory mappings\n",
      std::thread::hardware_concurrency(), memory, sysconf(_SC_PAGESIZE), limit(RLIMIT_NOFILE), mapping_limit()));
  print(fmt::format("processor: {}\n", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                                           ? "has what x86-64-v3 needs"
                                           : "lacks AVX2 or FMA: moediff will not run"));
  return usable ? 0 : 125;
}

}  // namespace moediff
