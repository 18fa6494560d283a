// Modules by dlopen with immediate binding and local scope: a missing symbol shows here and not in the middle of a run,
// and two providers cannot see each other's names.
#include "harness/run/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "harness/core/error.h"

namespace moediff {
namespace {

void* open_library(const std::string& path, const std::string& what) {
  if (!std::filesystem::exists(path)) throw CannotRun(fmt::format("no {}: '{}' does not exist", what, path));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw CannotRun(fmt::format("cannot load the {}: {}", what, dlerror()));
  return library;
}

/// Calls the exported entry function: the module's table, whose first member is its ABI version.
template <typename Table>
const Table& open_table(const std::string& path, const std::string& what, const char* entry_name, void** symbol) {
  *symbol = dlsym(open_library(path, what), entry_name);
  if (*symbol == nullptr)
    throw CannotRun(fmt::format("'{}' is no {}: it does not export '{}'", path, what, entry_name));
  const auto entry = reinterpret_cast<const Table* (*)(std::uint32_t)>(*symbol);
  const Table* table = entry(MOEDIFF_ABI_VERSION);
  if (table == nullptr) {
    throw CannotRun(fmt::format("the {} '{}' does not serve version {} of the ABI", what, path, MOEDIFF_ABI_VERSION));
  }
  if (table->abi_version != MOEDIFF_ABI_VERSION) {
    throw CannotRun(fmt::format("the {} '{}' is built for version {} of the ABI, this moediff for {}", what, path,
                                table->abi_version, MOEDIFF_ABI_VERSION));
  }
  return *table;
}

}  // namespace

std::string resolve_module_dir(const std::string& module_dir) {
  if (!module_dir.empty()) return module_dir;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

std::string backend_path(const std::string& module_dir, const std::string& backend) {
  return fmt::format("{}/libmoediff_{}.so", resolve_module_dir(module_dir), backend);
}

std::string provider_path(const std::string& module_dir, const std::string& backend, const std::string& provider) {
  if (provider.find('/') != std::string::npos) return provider;
  return fmt::format("{}/libmoediff_{}_{}.so", resolve_module_dir(module_dir), provider, backend);
}

Modules::Modules(const std::string& backend, const std::string& module_dir) : name_(backend), module_dir_(module_dir) {
  void* symbol = nullptr;
  backend_ = &open_table<md_backend>(backend_path(module_dir, backend), fmt::format("backend '{}'", backend),
                                     "moediff_backend", &symbol);
  if (backend_->device_count() < 1) throw CannotRun(fmt::format("backend '{}' finds no device", backend));
  if (backend_->set_device(0) != 0) {
    throw CannotRun(fmt::format("backend '{}' cannot use device 0: {}", backend, backend_->last_error()));
  }
}

const md_provider& Modules::provider(const std::string& name) {
  Loaded& loaded = providers_[name];
  if (loaded.provider != nullptr) return *loaded.provider;
  void* symbol = nullptr;
  const md_provider& provider = open_table<md_provider>(
      provider_path(module_dir_, name_, name), fmt::format("provider '{}'", name), "moediff_provider", &symbol);
  if (provider.backend != name_) {
    throw CannotRun(fmt::format("provider '{}' is for backend '{}', not for '{}'", name, provider.backend, name_));
  }
  loaded = {&provider, symbol, false};
  return provider;
}

void Modules::watch(const std::string& provider_name) {
  const md_provider& wanted = provider(provider_name);
  Loaded& loaded = providers_[provider_name];
  if (loaded.watched || host() == nullptr) return;
  // A library without writable data is refused, and has nothing to watch.
  host()->watch_library(loaded.symbol, fmt::format("static data of {}", wanted.name).c_str());
  loaded.watched = true;
}

BackendInfo Modules::info() const {
  BackendInfo info{backend_->name, backend_->runtime, "", backend_->device_count(), ""};
  std::array<char, 256> text{};
  if (backend_->device_name(0, text.data(), text.size()) == 0) info.device = text.data();
  return info;
}

}  // namespace moediff
