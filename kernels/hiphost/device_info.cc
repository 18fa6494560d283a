// Read from /proc/cpuinfo and sysconf.
#include "kernels/hiphost/device_info.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "kernels/hiphost/block_executor.h"

namespace moediff::hiphost {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

}  // namespace

hipDeviceProp_t device_properties() {
  hipDeviceProp_t properties{};
  std::snprintf(properties.name, sizeof properties.name, "%s", processor_name().c_str());
  std::snprintf(properties.gcnArchName, sizeof properties.gcnArchName, "host");
  properties.totalGlobalMem =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  properties.sharedMemPerBlock = kSharedBytes;
  properties.warpSize = warpSize;
  properties.multiProcessorCount = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  properties.maxThreadsPerBlock = static_cast<int>(kMaxBlockThreads);
  return properties;
}

}  // namespace moediff::hiphost
