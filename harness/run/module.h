// Loads backend and provider modules: shared libraries found by name in one folder, checked against the ABI's version.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/run/executor.h"
#include "kernels/abi/moediff_abi.h"

namespace moediff {

/// "" means the folder of the running executable.
std::string resolve_module_dir(const std::string& module_dir);
/// `libmoediff_<backend>.so` in the folder.
std::string backend_path(const std::string& module_dir, const std::string& backend);
/// `libmoediff_<provider>_<backend>.so` in the folder; a provider with a slash is a path already.
std::string provider_path(const std::string& module_dir, const std::string& backend, const std::string& provider);

/// The modules of one process. They stay loaded until the process ends: a candidate may have threads of its own.
class Modules {
 public:
  /// Loads the backend. Throws CannotRun when it is missing, of another ABI version, or finds no device.
  Modules(const std::string& backend, const std::string& module_dir);

  const md_backend& backend() const { return *backend_; }
  /// The host backend's control over schedule and observation, or nullptr.
  const md_host_control* host() const { return backend_->host; }
  /// Loads on first use. Throws CannotRun with the reason when the library is no provider for this backend.
  const md_provider& provider(const std::string& name);
  /// Has the provider's static data watched by the host backend, once.
  void watch(const std::string& provider);
  /// What the backend says of itself.
  BackendInfo info() const;

  /// Streams and events of earlier runs: a backend without host control cannot destroy them, so they are used again.
  std::vector<md_stream> kept_streams;
  std::vector<md_event> kept_events;

 private:
  struct Loaded {
    const md_provider* provider = nullptr;
    const void* symbol = nullptr;  ///< an address inside the library
    bool watched = false;
  };
  std::string name_, module_dir_;
  const md_backend* backend_ = nullptr;
  std::map<std::string, Loaded> providers_;
};

}  // namespace moediff
